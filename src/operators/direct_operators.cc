#include <unistd.h>

#include <algorithm>
#include <set>
#include <variant>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "env/options.h"
#include "launch/operators.h"
#include "operators/operator.h"
#include "operators/operators.h"
#include "operators/planning.h"

namespace muster::operators {
namespace {

/// What an operator whose programs each host starts itself decides once it knows all hosts.
struct DirectOperator {
  std::string name;  ///< "torchrun"
  Args args;
  bool print_plan = false;
  /// Ports that this host offers.
  std::function<int(const Args& hosts, const std::string& host)> ports;
  std::function<Result<launch::HostPlan>(const launch::Site& site)> plan;
};

/// The program of a line, to be started as it stands from where the operator was.
Result<Command> command_of(const command::Line& line, const Env& env) {
  Command command;
  command.argv = line.rest();
  command.env = env::user_environment(env);
  command.env.try_emplace("PYTHONUNBUFFERED", "1");  // Else a killed one's last words are lost.
  command.cwd = TRY(working_folder());
  return command;
}

int run_direct(const DirectOperator& direct, const Env& env) {
  const std::string shown = name_of_line("sm " + direct.name, direct.args);
  const std::string digest = digest_of_line(direct.args);
  const auto call = [&](const job::Training& training,
                        const Log& log) -> Result<launch::CallResult> {
    const int ports = direct.ports(training.hosts, training.current_host);
    const launch::Site site = TRY(exchange_sites(training, shown, digest, ports, env, log));
    launch::HostPlan plan = TRY(direct.plan(site));
    plan.hosts = training.hosts;
    if (direct.print_plan && !say(STDOUT_FILENO, launch::plan_text(plan)))
      return fail(Errc::closed, "standard output is closed");
    if (direct.print_plan) return launch::CallResult{};
    return make_call(training, launch::call_from(plan, shown, digest), env, log);
  };
  return run_operator(direct.name, direct.args, env, call);
}

/// torchrun's own options stand before the script. Those that take no value; all others do.
bool takes_no_value(const std::string& option) {
  static const std::set<std::string> names = {"--standalone", "--no-python", "--no_python",
                                              "--run-path",   "--run_path",  "-m",
                                              "--module",     "--help",      "-h"};
  return names.contains(option) || option.find('=') != std::string::npos;
}

/// Splits a line into torchrun's options and the script with its arguments.
void split_options(launch::TorchrunRequest& request) {
  Args& words = request.command.argv;
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) at += takes_no_value(words[at]) ? 1 : 2;
  const auto script = words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size()));
  request.agent_options.assign(words.begin(), script);
  words.erase(words.begin(), script);
}

int fail_usage(const std::string& name, const Error& error) {
  log_of(name).error(error.text);
  return command::exit_usage;
}

int no_ports(const Args&, const std::string&) {
  return 0;
}

/// The leading host offers one.
int leaders_port(const Args& hosts, const std::string& host) {
  return host == hosts.front() ? 1 : 0;
}

/// More than any job has.
constexpr int count_max = 1 << 20;

int tf_run(const Args& args, const Env& env, bool parameter_servers) {
  const std::string name = parameter_servers ? "tf run-distributed-training" : "tf multi-worker";
  command::Line line(command::page_of(name));
  launch::TensorflowRequest request;
  request.python = python_for(env);
  line.number("--num-workers", request.workers, 1, count_max);
  if (parameter_servers) {
    line.number("--num-parameter-servers", request.parameter_servers, 1, count_max);
    line.flag("--chief", request.chief);
    line.flag("--evaluator", request.evaluator);
    line.flag("--config-only", request.config_only);
    request.parameter_servers = 1;
  }
  bool print_plan = false;
  line.flag("--print-plan", print_plan);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop, log_of(name));
  Result<Command> command = command_of(line, env);
  if (!command) return fail_usage(name, command.error());
  request.command = *std::move(command);
  DirectOperator direct;
  direct.name = name;
  direct.args = args;
  direct.print_plan = print_plan;
  direct.ports = [&request](const Args& hosts, const std::string& host) {
    return launch::tensorflow_ports(request, hosts, host);
  };
  direct.plan = [&request](const launch::Site& site) {
    return launch::plan_tensorflow(request, site);
  };
  return run_direct(direct, env);
}

}  // namespace

int run_on_hosts_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("run"));
  bool print_plan = false;
  line.flag("--print-plan", print_plan);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop, log_of("run"));
  const Result<Command> command = command_of(line, env);
  if (!command) return fail_usage("run", command.error());
  DirectOperator direct{"run", args, print_plan, no_ports, [&command](const launch::Site& site) {
                          return launch::plan_run({*command}, site);
                        }};
  return run_direct(direct, env);
}

int torchrun_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("torchrun"));
  launch::TorchrunRequest request;
  request.python = python_for(env);
  int processes = 0;
  std::string launcher = "agent";
  line.number("--nproc-per-node", processes, 1, count_max);
  line.text("--launcher", launcher);
  bool print_plan = false;
  line.flag("--print-plan", print_plan);
  if (const std::optional<command::Stop> stop = line.parse(args))
    return tell(*stop, log_of("torchrun"));
  if (launcher != "agent" && launcher != "direct")
    return fail_usage("torchrun",
                      fail(Errc::invalid_input, "--launcher: expected agent or direct, got \"" +
                                                    to_utf8(launcher) + "\""));
  Result<Command> command = command_of(line, env);
  if (!command) return fail_usage("torchrun", command.error());
  request.command = *std::move(command);
  split_options(request);
  if (request.command.argv.empty())
    return fail_usage("torchrun", fail(Errc::invalid_input, "expected a script to run"));
  if (processes != 0) request.processes_per_host = processes;
  request.direct = launcher == "direct";
  DirectOperator direct{
      "torchrun", args, print_plan, leaders_port,
      [&request](const launch::Site& site) { return launch::plan_torchrun(request, site); }};
  return run_direct(direct, env);
}

int tf_main(const Args& args, const Env& env) {
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below("tf", args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below))
    return tell(*stop, log_of("tf"));
  return tf_run({args.begin() + 1, args.end()}, env, args[0] == "run-distributed-training");
}

int mxnet_main(const Args& args, const Env& env) {
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below("mxnet", args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below))
    return tell(*stop, log_of("mxnet"));
  const Args rest(args.begin() + 1, args.end());
  command::Line line(command::page_of("mxnet run"));
  launch::MxnetRequest request;
  request.python = python_for(env);
  line.number("--num-servers", request.servers, 1, count_max);
  line.number("--num-workers", request.workers, 1, count_max);
  bool print_plan = false;
  line.flag("--print-plan", print_plan);
  if (const std::optional<command::Stop> stop = line.parse(rest))
    return tell(*stop, log_of("mxnet run"));
  Result<Command> command = command_of(line, env);
  if (!command) return fail_usage("mxnet run", command.error());
  request.command = *std::move(command);
  DirectOperator direct{
      "mxnet run", rest, print_plan, leaders_port,
      [&request](const launch::Site& site) { return launch::plan_mxnet(request, site); }};
  return run_direct(direct, env);
}

}  // namespace muster::operators
