#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "env/options.h"
#include "launch/operators.h"
#include "operators/operator.h"
#include "operators/operator_line.h"
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
Result<Command> command_of(const OperatorLine& line, const Env& env) {
  Command command;
  command.argv = line.command();
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
  Log(STDERR_FILENO, "sm " + name, Log::Level::info).error(error.text);
  return 2;
}

int no_ports(const Args&, const std::string&) {
  return 0;
}

/// The leading host offers one.
int leaders_port(const Args& hosts, const std::string& host) {
  return host == hosts.front() ? 1 : 0;
}

constexpr const char* run_footer = R"(
Every host of the job runs the same line; the command runs once on each. When one fails, all end.

examples:
  sm run -- ./prepare.sh
  sm run -- python check_network.py)";

constexpr const char* torchrun_footer = R"(
Every host of the job runs the same line. One torchrun agent runs on each host; they meet at the
leading host, on a port that is free there. Options of torchrun's own stand before the script:
--max-restarts 2. A lost host ends the others' agents. With --launcher direct there is no agent:
the ranks are started, tagged and watched one by one.

examples:
  sm torchrun train.py --epochs 3
  sm torchrun --nproc-per-node 4 --max-restarts 2 train.py
  sm torchrun --launcher direct --nproc-per-node 2 train.py)";

constexpr const char* tf_run_footer = R"(
Every host of the job runs the same line. Workers are placed from the first host on, parameter
servers from the last host back; a host may hold several. The trainer gets --ps_hosts,
--worker_hosts, --job_name and --task_index, and TF_CONFIG. Parameter servers are ended when chief
and workers have. With --config-only there is TF_CONFIG alone, and parameter servers serve by
themselves: chief and workers run the trainer to its end.

examples:
  sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 trainer.py --steps 100
  sm tf run-distributed-training --chief --num-parameter-servers 1 trainer.py)";

constexpr const char* tf_multi_footer = R"(
Every host of the job runs the same line. The trainer runs on every host with TF_CONFIG, as
MultiWorkerMirroredStrategy reads it.

examples:
  sm tf multi-worker train.py
  sm tf multi-worker --num-workers 4 train.py)";

constexpr const char* mxnet_footer = R"(
Every host of the job runs the same line. A scheduler runs on the leading host, servers and workers
on all of them; each finds its part in DMLC_*. Scheduler and servers end when the workers have.

examples:
  sm mxnet run python train.py --kvstore dist_sync
  sm mxnet run --num-servers 1 --num-workers 4 python train.py)";

int tf_run(const Args& args, const Env& env, bool parameter_servers) {
  const std::string name = parameter_servers ? "tf run-distributed-training" : "tf multi-worker";
  OperatorLine line(name,
                    parameter_servers ? "Run a TensorFlow trainer with parameter servers."
                                      : "Run a TensorFlow trainer on several workers.",
                    parameter_servers ? tf_run_footer : tf_multi_footer);
  launch::TensorflowRequest request;
  request.python = python_for(env);
  line.number({"--num-workers"}, request.workers, 1,
              "workers over all hosts; default: one on each");
  if (parameter_servers) {
    line.number({"--num-parameter-servers"}, request.parameter_servers, 1,
                "parameter servers over all hosts; default: 1");
    line.flag({"--chief"}, request.chief, "a chief beside the workers");
    line.flag({"--evaluator"}, request.evaluator, "an evaluator");
    line.flag({"--config-only"}, request.config_only,
              "no flags for the trainer, and none on parameter servers");
    request.parameter_servers = 1;
  }
  if (const std::optional<int> status = line.parse(args)) return *status;
  Result<Command> command = command_of(line, env);
  if (!command) return fail_usage(name, command.error());
  request.command = *std::move(command);
  DirectOperator direct;
  direct.name = name;
  direct.args = args;
  direct.print_plan = line.print_plan();
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
  OperatorLine line("run", "Run a command once on every host, as one job.", run_footer);
  if (const std::optional<int> status = line.parse(args)) return *status;
  const Result<Command> command = command_of(line, env);
  if (!command) return fail_usage("run", command.error());
  DirectOperator direct{
      "run", args, line.print_plan(), no_ports,
      [&command](const launch::Site& site) { return launch::plan_run({*command}, site); }};
  return run_direct(direct, env);
}

int torchrun_main(const Args& args, const Env& env) {
  OperatorLine line("torchrun", "Run a PyTorch script over all hosts of the job.", torchrun_footer);
  line.pass_flags_on();
  launch::TorchrunRequest request;
  request.python = python_for(env);
  int processes = 0;
  std::string launcher = "agent";
  line.number({"--nproc-per-node"}, processes, 1,
              "processes on each host; default: one for each GPU, one without");
  line.value({"--launcher"}, launcher,
             "agent: torchrun on each host (default); direct: muster itself");
  if (const std::optional<int> status = line.parse(args)) return *status;
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
      "torchrun", args, line.print_plan(), leaders_port,
      [&request](const launch::Site& site) { return launch::plan_torchrun(request, site); }};
  return run_direct(direct, env);
}

int tf_main(const Args& args, const Env& env) {
  const std::string command = args.empty() ? "" : args[0];
  const Args rest(args.begin() + (args.empty() ? 0 : 1), args.end());
  if (command == "run-distributed-training") return tf_run(rest, env, true);
  if (command == "multi-worker") return tf_run(rest, env, false);
  constexpr const char* help =
      "usage: sm tf run-distributed-training | multi-worker [FLAGS] TRAINER [ARGS]\n\n"
      "  run-distributed-training   workers and parameter servers\n"
      "  multi-worker               workers alone (MultiWorkerMirroredStrategy)\n\n"
      "Each has a --help of its own.\n";
  if (command == "--help" || command == "-h") return write_all(STDOUT_FILENO, help) ? 0 : 1;
  return fail_usage("tf", fail(Errc::invalid_input, "no command \"" + to_utf8(command) +
                                                        "\", expected run-distributed-training "
                                                        "or multi-worker; see sm tf --help"));
}

int mxnet_main(const Args& args, const Env& env) {
  if (args.empty() || args[0] != "run")
    return fail_usage("mxnet", fail(Errc::invalid_input,
                                    "expected `sm mxnet run PROGRAM`; see sm mxnet run --help"));
  const Args rest(args.begin() + 1, args.end());
  OperatorLine line("mxnet run", "Run an MXNet program with its parameter servers.", mxnet_footer);
  launch::MxnetRequest request;
  request.python = python_for(env);
  line.number({"--num-servers"}, request.servers, 1,
              "servers over all hosts; default: one on each");
  line.number({"--num-workers"}, request.workers, 1,
              "workers over all hosts; default: one on each");
  if (const std::optional<int> status = line.parse(rest)) return *status;
  Result<Command> command = command_of(line, env);
  if (!command) return fail_usage("mxnet run", command.error());
  request.command = *std::move(command);
  DirectOperator direct{
      "mxnet run", rest, line.print_plan(), leaders_port,
      [&request](const launch::Site& site) { return launch::plan_mxnet(request, site); }};
  return run_direct(direct, env);
}

}  // namespace muster::operators
