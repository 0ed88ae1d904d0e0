#include "cli/completion.h"

#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/apps.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"

namespace muster::cli {
namespace {

struct Flag {
  std::string name;  ///< "--hosts"
  std::string help;
  bool value = false;
  bool path = false;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool is_path_type(const std::string& type) {
  return type == "FILE" || type == "PATH" || type.ends_with("DIR");
}

std::vector<Flag> flags_of(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    flags.push_back({"--" + option->get_lnames().front(), first_line(option->get_description()),
                     option->get_items_expected_max() > 0, is_path_type(option->get_type_name())});
  }
  return flags;
}

std::vector<const CLI::App*> commands_of(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App* app) { return !app->get_name().empty(); });
}

std::string names_of(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  return join(names, " ");
}

/// Inside '...' of any of the three shells, and of zsh's descriptions in brackets.
std::string harmless(const std::string& text) {
  std::string safe;
  for (const char c : text)
    if (std::string_view("'\\[]:`$\"").find(c) == std::string_view::npos) safe += c;
  return safe;
}

std::string bash_script(const CLI::App& root) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : commands_of(root)) {
    names.push_back(command->get_name());
    cases += "    " + command->get_name() + ") flags='" + names_of(flags_of(*command)) + "' ;;\n";
  }
  return "_sm() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} flags=''\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         join(names, " ") + " " + names_of(flags_of(root)) +
         "' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n"
         "    completion) flags='bash zsh fish --help' ;;\n" +
         cases +
         "  esac\n"
         "  case $word in\n"
         "    -*|'') COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
         "  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = completion ]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  elif [ \"${word:0:1}\" != - ]; then\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _sm sm\n";
}

std::string zsh_script(const CLI::App& root) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : commands_of(root)) {
    commands += "    '" + command->get_name() + ":" +
                harmless(first_line(command->get_description())) + "'\n";
    cases += "    " + command->get_name() + ")\n      _arguments \\\n";
    for (const Flag& flag : flags_of(*command)) {
      cases += "        '*" + flag.name + "[" + harmless(flag.help) + "]";
      if (flag.value) cases += flag.path ? ":value:_files" : ":value:";
      cases += "' \\\n";
    }
    const bool shells = command->get_name() == "completion";
    cases += shells ? "        '1:shell:(bash zsh fish)'\n" : "        '*:file:_files'\n";
    cases += "      ;;\n";
  }
  return "#compdef sm\n"
         "_sm() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _sm ]; then _sm \"$@\"; else compdef _sm sm; fi\n";
}

std::string fish_script(const CLI::App& root) {
  std::string text;
  for (const CLI::App* command : commands_of(root)) {
    const std::string name = command->get_name();
    text += "complete -c sm -n __fish_use_subcommand -f -a " + name + " -d '" +
            harmless(first_line(command->get_description())) + "'\n";
    for (const Flag& flag : flags_of(*command)) {
      text +=
          "complete -c sm -n '__fish_seen_subcommand_from " + name + "' -l " + flag.name.substr(2);
      if (flag.value) text += flag.path ? " -r -F" : " -x";
      text += " -d '" + harmless(flag.help) + "'\n";
    }
  }
  return text +
         "complete -c sm -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

}  // namespace

Result<std::string> completion_script(const std::string& shell, const CLI::App& root) {
  if (shell == "bash") return bash_script(root);
  if (shell == "zsh") return zsh_script(root);
  if (shell == "fish") return fish_script(root);
  return fail(Errc::invalid_input, "expected bash, zsh or fish, got \"" + to_utf8(shell) + "\"");
}

int completion_main(const Args& args, const Env&) {
  CompletionOptions options;
  CLI::App app("", "sm completion");
  add_completion(app, options);
  std::optional<Stop> stop = parse(app, args);
  if (!stop) {
    const CommandTree tree;
    const Result<std::string> script = completion_script(options.shell, tree.root);
    if (script) return write_all(STDOUT_FILENO, *script) ? exit_success : exit_platform;
    stop = wrong_line(app, script.error().text);
  }
  const int fd = stop->exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO;
  return say(fd, stop->text) ? stop->exit_code : exit_platform;
}

}  // namespace muster::cli
