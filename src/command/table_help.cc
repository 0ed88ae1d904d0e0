#include "command/page.h"

namespace muster::command {

std::vector<Page> pages_help() {
  const std::vector<Exit> exits = {
      {"0", "success"}, {"2", "usage error"}, {"3", "the output could not be written"}};
  return {
      {.name = "explain",
       .group = Group::help,
       .brief = "explain a message and how to fix the problem",
       .about = "Explains what a message means, why it appears, and what to do about it.",
       .operands = {{"TOPIC",
                     "topic name shown at the end of a message, or the text of the message "
                     "(default: list all topics)",
                     false, "TOPIC", "", true}},
       .examples = {{"sm explain needs-root"},
                    {"sm explain 'lost: no heartbeat for 5 s'", "find a topic by the message text"},
                    {"sm explain", "list all topics"}},
       .exits = exits},
      {.name = "completion",
       .group = Group::help,
       .brief = "print a shell completion script",
       .about = "Prints the completion script for a shell, or the JSON Schema that editors use to "
                "complete and validate job files.",
       .operands = {{"SHELL", "bash, zsh or fish, or job-file for the JSON Schema", true, "",
                     "bash zsh fish job-file"}},
       .examples = {{"source <(sm completion bash)"},
                    {"sm completion zsh > ~/.zfunc/_sm"},
                    {"sm completion fish > ~/.config/fish/completions/sm.fish"},
                    {"sm completion job-file > muster-job.schema.json"}},
       .exits = exits},
      {.name = "man",
       .group = Group::help,
       .brief = "print the manual page of a command, or write all of them to a folder",
       .about = "Prints the manual page of a command, or of sm itself, in roff format, which man "
                "can display.",
       .operands = {{"COMMAND", "a command of one or two words, e.g. fit or key create", false,
                     "COMMAND", "", true}},
       .flags = {{"--write", "DIR", "write all manual pages to this folder: sm-fit.1 and so on"}},
       .examples = {{"sm man fit | man -l -", "read the page"},
                    {"sm man --write ~/.local/share/man/man1",
                     "write all pages; man sm-fit then shows one of them"}},
       .exits = exits},
      {.name = "help",
       .group = Group::help,
       .brief = "list all commands, or show the help for one command",
       .about = "Lists the commands. sm help COMMAND is the same as sm COMMAND --help.",
       .operands = {{"COMMAND", "a command of one or two words", false, "COMMAND", "", true}},
       .examples = {{"sm help"}, {"sm help key create"}},
       .exits = exits},
      {.name = "version",
       .group = Group::help,
       .brief = "print the version",
       .about = "Prints the version, as sm --version does.",
       .examples = {{"sm version"}},
       .exits = exits},
  };
}

}  // namespace muster::command
