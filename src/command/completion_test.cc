#include "command/completion.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.h"
#include "command/help.h"
#include "command/page.h"

namespace muster::command {
namespace {

/// The part of a script that is about one command: from its first line on to the next command's.
std::string part_of(const std::string& script, const std::string& from, const std::string& to) {
  const std::size_t begin = script.find(from);
  if (begin == std::string::npos) return "";
  return script.substr(begin, script.find(to, begin + from.size()) - begin);
}

std::string case_of(const std::string& shell, const std::string& script, const std::string& name) {
  const std::string label = name.find(' ') == std::string::npos ? name : "'" + name + "'";
  if (shell == "bash") return part_of(script, "\n    " + label + ") flags=", "\n");
  if (shell == "zsh") return part_of(script, "\n    " + label + ")\n      _arguments", ";;");
  std::string lines;
  for (const std::string& line : split(script, '\n'))
    if (line.starts_with("complete -c sm -n '__sm_begins " + name + "' ")) lines += line + "\n";
  return lines;
}

bool has_word(const std::string& text, const std::string& word) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || letters.find(text[at - 1]) == std::string::npos;
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || letters.find(text[end]) == std::string::npos)) return true;
  }
  return false;
}

TEST_CASE("completion: every shell's script knows every command, flag and choice") {
  REQUIRE(typed_pages(false).size() > 20);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const Result<std::string> script = completion_script(shell);
    REQUIRE(script);
    for (const Page* page : typed_pages(false)) {
      CAPTURE(std::string(page->name));
      CHECK(has_word(*script, std::string(last_word(*page))));
      const std::string part = case_of(shell, *script, std::string(page->name));
      const bool lists_below = shell == std::string("zsh") && !pages_below(page->name).empty();
      CHECK(part.empty() == lists_below);
      if (lists_below) continue;
      std::vector<Flag> flags = page->flags;
      flags.push_back(help_flag());
      for (const Flag& flag : flags) {
        CAPTURE(std::string(flag.name));
        const bool dashed = shell != std::string("fish");
        CHECK(has_word(part,
                       dashed ? std::string(flag.name) : "-l " + std::string(flag.name.substr(2))));
        if (!flag.choices.empty()) CHECK(part.find(std::string(flag.choices)) != std::string::npos);
      }
      for (const Operand& operand : page->operands)
        if (!operand.choices.empty())
          CHECK(part.find(std::string(operand.choices)) != std::string::npos);
    }
    // The command itself is internal; a topic of `sm explain` begins like it.
    for (std::size_t at = script->find("steward"); at != std::string::npos;
         at = script->find("steward", at + 1))
      CHECK(script->compare(at, 14, "steward-memory") == 0);
  }
  CHECK(completion_script("tcsh").error().code == Errc::invalid_input);
  CHECK(completion_script("tcsh").error().text ==
        "expected bash, zsh, fish or job-file, got \"tcsh\"");
}

TEST_CASE("completion: --raw is offered and described where a job's lines are shown") {
  const std::string bash = *completion_script("bash");
  for (const char* name : {"fit", "logs", "submit"}) {
    CAPTURE(name);
    const std::string part = case_of("bash", bash, name);
    CHECK(part.find("flags='") != std::string::npos);
    CHECK(has_word(part, "--raw"));
    const std::string help = help_of(page_of(name));
    CHECK(help.find("--raw") != std::string::npos);
    CHECK(
        join(split_words(help), " ").find("| marks standard output, and ! marks standard error.") !=
        std::string::npos);
  }
}

TEST_CASE("completion: the help for --metric says what a metric named step means") {
  for (const char* name : {"fit", "submit"}) {
    CAPTURE(name);
    CHECK(join(split_words(help_of(page_of(name))), " ")
              .find("a metric named step gives the step of the others in its line") !=
          std::string::npos);
  }
}

TEST_CASE("completion: a command that has commands offers them") {
  const std::string bash = *completion_script("bash");
  const std::string key = "\n    key) flags='--help' words='create list job delete';";
  CHECK(bash.find(key) != std::string::npos);
  CHECK(bash.find("'jobs --status'") == std::string::npos);
  const std::string fish = *completion_script("fish");
  CHECK(fish.find("complete -c sm -n '__sm_is key' -f -a create ") != std::string::npos);
  const std::string zsh = *completion_script("zsh");
  CHECK(zsh.find("command=\"tf $words[2]\"") != std::string::npos);
}

}  // namespace
}  // namespace muster::command
