#include "job/launch/rank_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace muster::launch {
namespace {

/// A flag of torchrun's that says how the script is started.
struct ScriptFlag {
  std::string_view name;      ///< With '-' for '_'.
  std::string_view variable;  ///< Sets it where it is a number other than 0.
};
constexpr ScriptFlag module_flag = {"--module", "PET_MODULE"};
constexpr ScriptFlag no_python_flag = {"--no-python", "PET_NO_PYTHON"};
constexpr ScriptFlag run_path_flag = {"--run-path", "PET_RUN_PATH"};
constexpr std::array script_flags = {module_flag, no_python_flag, run_path_flag};

/// torch runs such a script in the process that multiprocessing made for the rank.
constexpr const char* run_path =
    "import sys; from torch.distributed.run import record, run_script_path; "
    "record(run_script_path)(*sys.argv[1:])";

bool is_flag(std::string word, const ScriptFlag& flag) {
  if (word == "-m") return flag.name == module_flag.name;
  std::replace(word.begin(), word.end(), '_', '-');
  return word == flag.name;
}

bool is_set(const Args& options, const Env& env, const ScriptFlag& flag) {
  const Env::const_iterator found = env.find(std::string(flag.variable));
  if (found != env.end() && parse_integer(found->second).value_or(0) != 0) return true;
  return std::any_of(options.begin(), options.end(),
                     [&](const std::string& word) { return is_flag(word, flag); });
}

bool is_script_flag(const std::string& word) {
  return std::any_of(script_flags.begin(), script_flags.end(),
                     [&](const ScriptFlag& flag) { return is_flag(word, flag); });
}

}  // namespace

Args rank_line(const std::string& sm, const Args& argv) {
  Args words = {sm, "rank", "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

Result<TorchScript> torch_script(const std::string& python, const Args& options, const Args& script,
                                 const Env& env) {
  const bool module = is_set(options, env, module_flag);
  const bool runs_path = is_set(options, env, run_path_flag);
  const bool no_python = is_set(options, env, no_python_flag) && !runs_path;
  if (module && no_python)
    return fail(Errc::invalid_input, "--module and --no-python cannot be combined");
  TorchScript result;
  for (const std::string& word : options)
    if (!is_script_flag(word)) result.agent_options.push_back(word);
  const Env::const_iterator other = env.find("PYTHON_EXEC");
  if (runs_path)
    result.argv = {python, "-u", "-c", run_path};
  else if (!no_python)
    result.argv = {other == env.end() ? python : other->second, "-u"};
  if (module && !runs_path) result.argv.emplace_back("-m");
  result.argv.insert(result.argv.end(), script.begin(), script.end());
  return result;
}

Env without_script_options(Env env) {
  for (const ScriptFlag& flag : script_flags) env.erase(std::string(flag.variable));
  return env;
}

Args torchrun_of(const std::string& python) {
  return {python, "-m", "torch.distributed.run"};
}

}  // namespace muster::launch
