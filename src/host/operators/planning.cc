#include "host/operators/planning.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "host/calls/ssh_transport.h"
#include "host/code/code_folder.h"
#include "host/env/options.h"
#include "host/operators/mpi_version.h"
#include "job/launch/operators.h"
#include "job/launch/plan_inputs.h"
#include "os/supervise/answer.h"
#include "os/supervise/spawn.h"

namespace muster::operators {
namespace {

bool installed(const std::string& program, const Env& env) {
  return supervise::find_program(program, env, "").has_value();
}

/// The first line of a file, at most 256 bytes of it; empty if it cannot be read.
std::string first_line(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[256];
  const ssize_t count = fd ? ::read(fd.get(), buffer, sizeof(buffer)) : 0;
  const std::string_view text(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

/// The job with the caller's overrides.
job::Training wished(job::Training training, const Wish& wish) {
  if (!wish.entry_point.empty()) training.user_entry_point = wish.entry_point;
  for (const auto& [name, text] : wish.options)
    training.framework_parameters.set(name, job::PyValue::of_text(text));
  return training;
}

Result<void> look_at_entry_point(const job::Training& training, launch::Options& options) {
  const std::string& name = training.user_entry_point;
  TRY(job::check_entry_point(name));
  options.code_dir = training.code_dir();
  const code::CodeFolder folder = TRY(code::look_at(options.code_dir, name));
  const std::string entry = options.code_dir + "/" + name;
  options.has_setup_py = code::is_package(folder, name);
  options.entry_exists = folder.has_entry_point;
  options.entry_executable = ::access(entry.c_str(), X_OK) == 0;
  options.entry_first_line = first_line(entry);
  return {};
}

}  // namespace

Result<std::string> rank_program() {
  std::string own = TRY(own_program());
  if (!own.ends_with("/train")) return own;
  const std::string beside = own.substr(0, own.rfind('/') + 1) + "sm";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : own;
}

std::string python_for(const Env& env) {
  std::string found = installed("python3", env) ? "python3" : "python";
  const Result<std::string> own = own_program();
  const Env::const_iterator path = env.find("PATH");
  if (!own || path == env.end()) return found;
  const std::string folder = own->substr(0, own->rfind('/'));
  const std::vector<std::string> folders = split(path->second, ':');
  if (std::find(folders.begin(), folders.end(), folder) != folders.end()) return found;
  const std::string beside = folder + "/python3";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : found;
}

Result<void> check_needs(const launch::LauncherRow& launcher, const std::string& python,
                         const Command& program) {
  const std::string module(launcher.needs.module);
  if (module.empty()) return {};
  const std::optional<Args> found =
      env::importable({module}, python, program.env, program.cwd, env::Imports::of_program);
  // A missing interpreter is reported by the process that starts it.
  if (!found || !found->empty()) return {};
  return fail(Errc::not_found, to_utf8(python) + " has no module " + module + ": " +
                                   std::string(launcher.needs.install));
}

Command framework_command(const std::string& module, const Env& env) {
  Command command;
  command.argv = {python_for(env), "-m", "muster.framework", module};
  command.env = env::user_environment(env);
  command.env.try_emplace("PYTHONUNBUFFERED", "1");
  if (const auto program = env.find("MUSTER_SM"); program != env.end())
    command.env.insert(*program);  // The module's Python packages look for `sm` there.
  return command;
}

bool has_framework(const job::Training& training) {
  return training.framework_module && !training.framework_module->empty();
}

Result<Command> under_operator(const job::Training& training, Command program, const Log& log) {
  if (!launch::wants_operator(training)) return program;
  // Not in the code folder, where a file may have the name of a framework.
  const std::vector<std::string> frameworks =
      env::importable({"tensorflow", "mxnet"}, python_for(program.env), program.env, "/",
                      env::Imports::of_program)
          .value_or(Args());
  const Args words =
      launch::script_operator(training, frameworks.size() == 1 ? frameworks[0] : std::string());
  if (words.empty()) {
    log.warning(
        "the job requests parameter servers or mirrored workers, but " +
        std::string(frameworks.empty() ? "no framework for them" : "more than one framework") +
        " can be imported: the script runs once on every host");
    return program;
  }
  Args argv = {TRY(rank_program())};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.insert(argv.end(), program.argv.begin(), program.argv.end());
  program.argv = std::move(argv);
  return program;
}

bool launches(const job::Training& training) {
  const Result<launch::Inputs> inputs = launch::inputs_from(training, std::nullopt);
  return inputs && inputs->runner != launch::Runner::process;
}

Result<launch::HostPlan> plan_host(const job::Training& job, const Env& env, const Wish& wish) {
  const job::Training training = wished(job, wish);
  launch::Options options;
  options.runner = wish.runner;
  options.display_map = wish.display_map;
  options.on_platform = env.contains("MUSTER_STEWARD_FD");
  options.python = wish.python.empty() ? python_for(env) : wish.python;
  options.sm = TRY(rank_program());
  options.agent = options.sm;  // MUSTER_AGENT distinguishes the two: mpirun's agent is one word.
  if (wish.command.empty())
    TRY(look_at_entry_point(training, options));
  else
    options.code_dir = wish.folder;
  options.env = env::user_environment(env);
  options.env.try_emplace("PYTHONUNBUFFERED", "1");
  if (wish.command.empty()) {
    std::string& path = options.env["PYTHONPATH"];
    path = options.code_dir + (path.empty() ? "" : ":" + path);
  }
  launch::Inputs inputs = TRY(launch::inputs_from(training, options.runner));
  // A job without a distribution lists no hosts; a caller that requests a launch means all hosts.
  if (inputs.hosts.empty()) inputs.hosts = training.hosts;
  if (!wish.args.empty()) inputs.args = wish.args;
  inputs.command = wish.command;
  if (wish.own_environment) inputs.variables.clear();
  const launch::LauncherRow& launcher = launch::launcher_of(inputs.runner);
  // On every host, because its mpirun's flavour decides the allowed custom options.
  if (launcher.needs.mpirun) {
    const bool leads = !inputs.hosts.empty() && inputs.host == inputs.hosts.front();
    options.mpi = TRY(leads ? mpi_version(options.env) : mpi_version_of_member(options.env));
    options.transport = TRY(calls::transport_from(env));
  }
  TRY(check_needs(launcher, options.python, {{}, options.env, options.code_dir}));
  return launch::plan(inputs, options);
}

}  // namespace muster::operators
