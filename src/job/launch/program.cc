#include <algorithm>

#include "base/text.h"
#include "job/launch/plan_inputs.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

Error bad_entry(const std::string& name, const std::string& why) {
  return fail(Errc::invalid_input, "sagemaker_program \"" + to_utf8(name) + "\" " + why);
}

/// "pkg/train.py" as the interpreter's -m takes it: "pkg.train".
std::string module_name(std::string name) {
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// The reference joins a line for /bin/sh -c after a chmod 0777 of the file. Here argv stays argv:
/// the file is started itself, or by the interpreter its first line names; a script that names
/// none goes to /bin/sh, as sh would do. A binary, or a file of which nothing is known, is started.
Result<Args> command_words(const std::string& name, const Options& options) {
  const std::string& first = options.entry_first_line;
  const std::string path = "./" + name;
  const bool script = name.ends_with(".sh");
  const bool names_interpreter = first.starts_with("#!");
  const bool text = !first.empty() && !names_interpreter &&
                    !first.starts_with(
                        "\x7f"
                        "ELF");
  if (options.entry_executable && !text) return Args{path};
  if (!options.entry_executable && !script)
    return bad_entry(
        name, "is neither executable nor a .py or .sh file (make it executable with chmod +x)");
  if (!names_interpreter) return Args{"/bin/sh", path};
  // As the kernel reads it: the interpreter and at most one argument.
  const std::string line = trim(first.substr(2));
  const std::size_t space = line.find_first_of(" \t");
  Args words = {line.substr(0, space)};
  if (words[0].empty()) return Args{"/bin/sh", path};
  if (space != std::string::npos) words.push_back(trim(line.substr(space)));
  words.push_back(path);
  return words;
}

Env program_environment(const Inputs& inputs, const Options& options) {
  Env env = options.env;
  for (const auto& [name, value] : inputs.variables) env[name] = value;
  env.try_emplace("PYTHONUNBUFFERED", "1");  // Else a killed rank's last words are lost.
  // A script in a subfolder imports from the code folder too, as with the reference.
  std::string& path = env["PYTHONPATH"];
  const std::vector<std::string> folders = split(path, ':');
  if (std::find(folders.begin(), folders.end(), options.code_dir) == folders.end())
    path = path.empty() ? options.code_dir : options.code_dir + ":" + path;
  if (env.contains("PWD")) env["PWD"] = options.code_dir;
  env.erase("OLDPWD");
  return env;
}

}  // namespace

EntryPoint entry_point_kind(const std::string& name, bool has_setup_py) {
  if (name.ends_with(".sh")) return EntryPoint::command;
  if (has_setup_py) return EntryPoint::python_package;
  return name.ends_with(".py") ? EntryPoint::python_program : EntryPoint::command;
}

Result<Command> program_command(const Inputs& inputs, const Options& options,
                                const std::string& module) {
  if (!inputs.command.empty()) return Command{inputs.command, options.env, options.code_dir};
  const std::string& name = inputs.entry_point;
  TRY(job::check_entry_point(name));
  const EntryPoint kind = entry_point_kind(name, options.has_setup_py);
  if (kind != EntryPoint::python_package && !options.entry_exists)
    return bad_entry(name, "is not in " + options.code_dir);
  Args argv;
  if (kind == EntryPoint::command) {
    argv = TRY(command_words(name, options));
  } else {
    argv = {options.python};
    if (!module.empty()) argv.insert(argv.end(), {"-m", module});
    if (kind == EntryPoint::python_package)
      argv.insert(argv.end(), {"-m", module_name(name)});
    else
      argv.push_back(name);  // Never begins with '-': no "--" is needed, and mpi4py takes none.
  }
  argv.insert(argv.end(), inputs.args.begin(), inputs.args.end());
  for (const std::string& word : argv)
    if (word.find('\0') != std::string::npos)
      return fail(Errc::invalid_input,
                  "a hyperparameter contains a NUL character, which is not allowed in arguments");
  return Command{std::move(argv), program_environment(inputs, options), options.code_dir};
}

Result<Command> script_command(const Inputs& inputs, const Options& options, const std::string& who,
                               const std::string& module) {
  switch (entry_point_kind(inputs.entry_point, options.has_setup_py)) {
    case EntryPoint::python_program:
      return program_command(inputs, options, module);
    case EntryPoint::python_package:
      return bad_entry(inputs.entry_point, "is a Python package (setup.py is in " +
                                               options.code_dir + "), but " + who +
                                               " starts only Python scripts");
    case EntryPoint::command:
      break;
  }
  TRY(job::check_entry_point(inputs.entry_point));
  return bad_entry(inputs.entry_point,
                   "is not a Python script (.py), but " + who + " starts only Python scripts");
}

Result<HostPlan> plan_process(const Inputs& inputs, const Options& options) {
  HostPlan result;
  result.rank = TRY(program_command(inputs, options, ""));
  return result;
}

}  // namespace muster::launch
