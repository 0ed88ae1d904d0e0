#include "command/completion.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/topic.h"
#include "command/job_file.h"
#include "command/page.h"

namespace muster::command {
namespace {

using Words = std::vector<std::string>;

bool is_file(std::string_view kind) {
  return kind == "FILE" || kind == "PATH" || kind.ends_with("DIR");
}

std::vector<Flag> flags_of(const Page& page) {
  std::vector<Flag> flags = page.flags;
  flags.push_back(help_flag());
  return flags;
}

std::string words_of(const std::vector<const Page*>& pages) {
  Words names;
  for (const Page* page : pages) names.emplace_back(last_word(*page));
  return join(names, " ");
}

/// Every word of every command's name, once.
std::string command_words() {
  Words names;
  for (const Page* page : typed_pages(false))
    for (const std::string& word : split_words(page->name))
      if (std::find(names.begin(), names.end(), word) == names.end()) names.push_back(word);
  return join(names, " ");
}

std::string topic_words() {
  Words names;
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  return join(names, " ");
}

/// What an operand of the page may be, if that is known.
std::string choices_of(const Operand& operand) {
  if (operand.kind == "COMMAND") return command_words();
  return operand.kind == "TOPIC" ? topic_words() : std::string(operand.choices);
}

/// The words that may follow the page's own.
std::string choices_of(const Page& page) {
  const std::vector<const Page*> below = pages_below(page.name);
  if (!below.empty()) return words_of(below);
  Words words;
  for (const Operand& operand : page.operands)
    if (const std::string some = choices_of(operand); !some.empty()) words.push_back(some);
  return join(words, " ");
}

/// "key|tf|mxnet": the commands that have commands.
std::string parents() {
  Words names;
  for (const Page* page : typed_pages(true))
    if (!pages_below(page->name).empty()) names.emplace_back(page->name);
  return join(names, "|");
}

/// As a pattern of `case`, and within a line's single quotes.
std::string pattern(std::string_view name) {
  const bool plain = name.find(' ') == std::string_view::npos;
  return plain ? std::string(name) : "'" + std::string(name) + "'";
}

/// Inside '...' of any of the three shells, and of zsh's descriptions in brackets.
std::string harmless(std::string_view text) {
  std::string safe;
  for (const char c : text)
    if (std::string_view("'\\[]:`$\"").find(c) == std::string_view::npos) safe += c;
  return safe;
}

/// "name='words' ", or nothing.
std::string set(const std::string& name, const std::string& words) {
  return words.empty() ? "" : " " + name + "='" + words + "'";
}

std::string bash_case(const Page& page) {
  Words names, files, others;
  std::string values;
  for (const Flag& flag : flags_of(page)) {
    names.emplace_back(flag.name);
    Words known = {std::string(flag.name)};
    for (const std::string_view name : {flag.also, flag.letter})
      if (!name.empty()) known.emplace_back(name);
    if (!flag.takes_value()) continue;
    Words& kind = is_file(flag.value) ? files : others;
    kind.insert(kind.end(), known.begin(), known.end());
    if (!flag.choices.empty())
      values += " [ \"$before\" = " + std::string(flag.name) + " ] && values='" +
                std::string(flag.choices) + "';";
  }
  return "    " + pattern(page.name) + ")" + set("flags", join(names, " ")) +
         set("words", choices_of(page)) + set("files", join(files, " ")) +
         set("others", join(others, " ")) + ";" + values + " ;;\n";
}

std::string bash_script() {
  std::string cases;
  for (const Page* page : typed_pages(false)) cases += bash_case(*page);
  return "# sm's completion for bash, made by `sm completion bash`.\n"
         "_sm() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=${COMP_WORDS[1]} flags='' words='' files='' others='' values=''\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         words_of(typed_pages(true)) +
         " --help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n"
         "    " +
         parents() +
         ") [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${COMP_WORDS[2]}\" ;;\n"
         "  esac\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "  if [ -n \"$values\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \" $others \" in\n"
         "    *\" $before \"*) return ;;\n"
         "  esac\n"
         "  case \" $files \" in\n"
         "    *\" $before \"*) flags='' words='' ;;\n"
         "  esac\n"
         "  [ -n \"$words\" ] && [ \"${word:0:1}\" != - ] && flags=''\n"
         "  COMPREPLY=($(compgen -W \"$flags $words\" -- \"$word\"))\n"
         "  if [ -z \"$words\" ] && [ \"${word:0:1}\" != - ]; then\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _sm sm\n";
}

/// "'fit:run a training job'" for each page, one a line.
std::string zsh_commands(const std::vector<const Page*>& pages, const std::string& indent) {
  std::string text;
  for (const Page* page : pages)
    text += indent + "'" + std::string(last_word(*page)) + ":" + harmless(page->brief) + "'\n";
  return text;
}

/// What zsh offers for a value.
std::string zsh_values(std::string_view kind, const std::string& choices) {
  if (!choices.empty()) return "(" + choices + ")";
  return is_file(kind) ? "_files" : "";
}

std::string zsh_parent(const Page& page) {
  return "    " + std::string(page.name) +
         ")\n"
         "      if (( CURRENT == 2 )); then\n"
         "        commands=(\n" +
         zsh_commands(pages_below(page.name), "          ") +
         "        )\n"
         "        _describe command commands\n"
         "        return\n"
         "      fi\n"
         "      command=\"" +
         std::string(page.name) +
         " $words[2]\"\n"
         "      shift words\n"
         "      (( CURRENT-- ))\n"
         "      ;;\n";
}

std::string zsh_case(const Page& page) {
  std::string text = "    " + pattern(page.name) + ")\n      _arguments \\\n";
  const auto add = [&](std::string_view name, const Flag& flag) {
    text += "        '*" + std::string(name) + "[" + harmless(flag.help) + "]";
    if (flag.takes_value()) text += ":value:" + zsh_values(flag.value, std::string(flag.choices));
    text += "' \\\n";
  };
  for (const Flag& flag : flags_of(page)) {
    add(flag.name, flag);
    if (!flag.letter.empty()) add(flag.letter, flag);
  }
  const std::string choices = choices_of(page);
  text += choices.empty() ? "        '*:file:_files'\n" : "        '*:word:(" + choices + ")'\n";
  return text + "      ;;\n";
}

std::string zsh_script() {
  std::string cases, parent_cases;
  for (const Page* page : typed_pages(false)) {
    const bool parent = !pages_below(page->name).empty();
    (parent ? parent_cases : cases) += parent ? zsh_parent(*page) : zsh_case(*page);
  }
  return "#compdef sm\n"
         "# sm's completion for zsh, made by `sm completion zsh`.\n"
         "_sm() {\n"
         "  local -a commands\n"
         "  if (( CURRENT == 2 )); then\n"
         "    commands=(\n" +
         zsh_commands(typed_pages(true), "      ") +
         "    )\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         parent_cases +
         "  esac\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _sm ]; then _sm \"$@\"; else compdef _sm sm; fi\n";
}

std::string fish_flag(const std::string& where, const Flag& flag) {
  std::string text = "complete -c sm -n " + where + " -l " + std::string(flag.name.substr(2));
  if (!flag.letter.empty()) text += " -s " + std::string(flag.letter.substr(1));
  if (flag.takes_value() && !flag.choices.empty())
    text += " -x -a '" + std::string(flag.choices) + "'";
  else if (flag.takes_value())
    text += is_file(flag.value) ? " -r -F" : " -x";
  return text + " -d '" + harmless(flag.help) + "'\n";
}

std::string fish_script() {
  std::string text =
      "# sm's completion for fish, made by `sm completion fish`.\n"
      "function __sm_is -d 'the words behind sm are these'\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2..-1]\" = \"$argv\"\n"
      "end\n"
      "function __sm_begins -d 'the words behind sm begin with these'\n"
      "  set -l words (commandline -opc)\n"
      "  string match -q -- \"$argv *\" \"$words[2..-1] \"\n"
      "end\n";
  for (const Page* page : typed_pages(false)) {
    const std::string name(page->name);
    const std::size_t space = name.find(' ');
    const bool top = space == std::string::npos;
    text += "complete -c sm -n " +
            (top ? "__fish_use_subcommand" : "'__sm_is " + name.substr(0, space) + "'") +
            " -f -a " + std::string(last_word(*page)) + " -d '" + harmless(page->brief) + "'\n";
    const std::string where = "'__sm_begins " + name + "'";
    for (const Flag& flag : flags_of(*page)) text += fish_flag(where, flag);
    if (const std::string choices = choices_of(*page);
        pages_below(name).empty() && !choices.empty())
      text += "complete -c sm -n " + where + " -f -a '" + choices + "'\n";
  }
  return text;
}

}  // namespace

Result<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  if (shell == "job-file") return job_file_schema();
  return fail(Errc::invalid_input,
              "expected bash, zsh, fish or job-file, got \"" + to_utf8(shell) + "\"");
}

}  // namespace muster::command
