#include "command/page.h"

namespace muster::command {

std::vector<Page> pages_help() {
  const std::vector<Exit> exits = {
      {"0", "printed"}, {"2", "what was given is wrong"}, {"3", "it could not be written"}};
  return {
      {.name = "explain",
       .group = Group::help,
       .brief = "say what a message means and what to do about it",
       .about = "Says what a message of muster's means, why it comes and what to do about it.",
       .operands = {{"NAME",
                     "the name at the message's end, or the message itself; without one all names "
                     "are listed",
                     false, "TOPIC", "", true}},
       .examples = {{"sm explain needs-root"},
                    {"sm explain 'lost: no heartbeat for 5 s'", "found by the message"},
                    {"sm explain", "all names there are"}},
       .exits = exits},
      {.name = "completion",
       .group = Group::help,
       .brief = "print the completion script of a shell",
       .about = "Prints the completion script of a shell.",
       .operands = {{"SHELL", "bash, zsh or fish", true, "", "bash zsh fish"}},
       .examples = {{"source <(sm completion bash)"},
                    {"sm completion zsh > ~/.zfunc/_sm"},
                    {"sm completion fish > ~/.config/fish/completions/sm.fish"}},
       .exits = exits},
      {.name = "man",
       .group = Group::help,
       .brief = "print a command's manual page, or write them all",
       .about =
           "Prints the manual page of a command, or that of sm itself, as roff: what man reads.",
       .operands = {{"COMMAND", "one command, in one word or two: fit, key create", false,
                     "COMMAND", "", true}},
       .flags = {{"--write", "DIR", "write all pages into this folder, as sm-fit.1 and so on"}},
       .examples = {{"sm man fit | man -l -", "read it"},
                    {"sm man --write ~/.local/share/man/man1", "then also: man sm-fit"}},
       .exits = exits},
      {.name = "help",
       .group = Group::help,
       .brief = "say what commands there are, or tell of one",
       .about = "Says what commands there are; sm help COMMAND is sm COMMAND --help.",
       .operands = {{"COMMAND", "one command, in one word or two", false, "COMMAND", "", true}},
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
