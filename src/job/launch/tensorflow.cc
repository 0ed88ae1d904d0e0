#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "job/launch/launchers.h"
#include "job/launch/operators.h"
#include "job/launch/site.h"

namespace muster::launch {
namespace {

constexpr std::array<std::string_view, 4> flags = {"--ps_hosts", "--worker_hosts", "--job_name",
                                                   "--task_index"};

/// Source: sagemaker_tensorflow_training 20.5.0, whose parameter servers see no GPU either.
constexpr const char* serve = R"(import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
tf.distribute.Server(config["cluster"], job_name="ps", task_index=config["task"]["index"]).join()
)";

struct Task {
  std::string job;  ///< "chief", "worker", "ps", "evaluator"; TensorFlow's words.
  int index = 0;
  std::size_t host = 0;
  std::size_t port = 0;  ///< The number of a free port of its host, from 0.
};

int worker_count(const TensorflowRequest& request, std::size_t hosts) {
  return request.workers == 0 ? static_cast<int>(hosts) : request.workers;
}

Result<void> check(const TensorflowRequest& request, std::size_t hosts) {
  if (hosts == 0) return fail(Errc::invalid_input, "the job has no hosts");
  TRY(check_count("--num-workers", worker_count(request, hosts), hosts));
  if (request.parameter_servers == 0) return {};
  return check_count("--num-parameter-servers", request.parameter_servers, hosts);
}

/// All tasks in the order of their numbers. The chief and then the workers are dealt over the hosts
/// from the first one on, parameter servers from the last one back; the evaluator is on the last.
std::vector<Task> tasks_of(const TensorflowRequest& request, std::size_t hosts) {
  std::vector<Task> tasks;
  if (request.chief) tasks.push_back({"chief", 0});
  for (int i = 0; i < worker_count(request, hosts); ++i) tasks.push_back({"worker", i});
  std::vector<std::size_t> ports_taken(hosts, 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].host = i % hosts;
  for (int i = 0; i < request.parameter_servers; ++i)
    tasks.push_back({"ps", i, hosts - 1 - static_cast<std::size_t>(i) % hosts});
  if (request.evaluator) tasks.push_back({"evaluator", 0, hosts - 1});
  for (Task& task : tasks) task.port = ports_taken[task.host]++;
  return tasks;
}

/// host:port of each task.
Result<Args> addresses_of(const std::vector<Task>& tasks, const Site& site) {
  Args addresses;
  for (const Task& task : tasks) {
    const std::string port = TRY(port_of(site, task.host, task.port, "TensorFlow"));
    addresses.push_back(name_for_programs(site, task.host) + ":" + port);
  }
  return addresses;
}

Args addresses_of_job(const std::vector<Task>& tasks, const Args& addresses,
                      const std::string& job) {
  Args found;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].job == job) found.push_back(addresses[i]);
  return found;
}

/// The evaluator is not part of the cluster that trains; only the evaluator sees itself in it.
Json config_for(const Task& task, const std::vector<Task>& tasks, const Args& addresses) {
  Json cluster = Json::object();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].job != "evaluator" || task.job == "evaluator")
      cluster[tasks[i].job].push_back(addresses[i]);
  return {{"cluster", cluster},
          {"task", {{"type", task.job}, {"index", task.index}}},
          {"environment", "cloud"}};
}

Result<void> check_arguments(const Args& argv) {
  for (const std::string& word : argv) {
    const std::string name = word.substr(0, word.find('='));
    if (std::find(flags.begin(), flags.end(), name) != flags.end())
      return fail(Errc::invalid_input, "the trainer's argument " + name +
                                           " is not allowed: muster sets it for each task");
  }
  return {};
}

/// A worker of ParameterServerStrategy serves until it is ended, as a parameter server does; there
/// the chief leads. Without a chief, or with TF_CONFIG alone, workers train and end by themselves.
bool decides(const Task& task, const TensorflowRequest& request) {
  if (task.job == "chief") return true;
  if (task.job != "worker") return false;
  return request.config_only || !request.chief || request.parameter_servers == 0;
}

void set_task_gpus(Env& env, const Task& task, const std::vector<Task>& tasks, int gpus) {
  if (task.job == "ps") {
    env["CUDA_VISIBLE_DEVICES"] = "";  // A server would take all memory of GPUs for nothing.
    return;
  }
  int sharers = 0;
  int n = 0;
  for (const Task& other : tasks) {
    if (other.host != task.host || other.job == "ps") continue;
    if (other.port < task.port) ++n;
    ++sharers;
  }
  set_gpus(env, gpus, n, sharers);
  if (gpus > 0 && gpus < sharers) env.try_emplace("TF_FORCE_GPU_ALLOW_GROWTH", "true");
}

HostProgram program_of(const Task& task, const TensorflowRequest& request, const Site& site,
                       const std::vector<Task>& tasks, const Args& addresses) {
  HostProgram program;
  program.name = task.job;
  if (task.job == "worker" || task.job == "ps") program.name += " " + std::to_string(task.index);
  program.command = request.command;
  program.command.argv = started(request.python, request.command.argv);
  program.command.env["TF_CONFIG"] = to_text(config_for(task, tasks, addresses));
  if (request.config_only && task.job == "ps") {
    program.command.argv = {request.python, "-c", serve};
  } else if (request.parameter_servers > 0 && !request.config_only) {
    const Args more = {"--ps_hosts",     join(addresses_of_job(tasks, addresses, "ps"), ","),
                       "--worker_hosts", join(addresses_of_job(tasks, addresses, "worker"), ","),
                       "--job_name",     task.job,
                       "--task_index",   std::to_string(task.index)};
    program.command.argv.insert(program.command.argv.end(), more.begin(), more.end());
  }
  set_task_gpus(program.command.env, task, tasks, site.hosts[task.host].gpus);
  program.decides = decides(task, request);
  return program;
}

}  // namespace

int tensorflow_ports(const TensorflowRequest& request, const Args& hosts, const std::string& host) {
  if (!check(request, hosts.size())) return 0;
  int ports = 0;
  for (const Task& task : tasks_of(request, hosts.size()))
    if (hosts[task.host] == host) ++ports;
  return ports;
}

Result<HostPlan> plan_tensorflow(const TensorflowRequest& request, const Site& site) {
  const auto place = static_cast<std::size_t>(TRY(place_of_self(site)));
  TRY(check_command(request.command, "a trainer"));
  TRY(check(request, site.hosts.size()));
  if (request.parameter_servers > 0 && !request.config_only)
    TRY(check_arguments(request.command.argv));
  const std::vector<Task> tasks = tasks_of(request, site.hosts.size());
  const Args addresses = TRY(addresses_of(tasks, site));
  HostPlan plan = direct_plan(site, request.command);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].host != place) continue;
    HostProgram program = program_of(tasks[i], request, site, tasks, addresses);
    program.rank = static_cast<int>(i);
    plan.programs.push_back(std::move(program));
  }
  plan.ranks_here = static_cast<int>(plan.programs.size());
  plan.ranks_total = static_cast<int>(tasks.size());
  return plan;
}

namespace {

Operation operation(const TensorflowRequest& request) {
  return {[request](const Args& hosts, const std::string& host) {
            return tensorflow_ports(request, hosts, host);
          },
          [request](const Site& site) { return plan_tensorflow(request, site); }};
}

TensorflowRequest request_of(OperatorLine& line) {
  TensorflowRequest request;
  request.workers = line.number("--num-workers");
  request.python = std::move(line.python);
  request.command = std::move(line.command);
  return request;
}

}  // namespace

Result<Operation> read_tf_training(OperatorLine line) {
  TensorflowRequest request = request_of(line);
  request.parameter_servers =
      line.has("--num-parameter-servers") ? line.number("--num-parameter-servers") : 1;
  request.chief = line.has("--chief");
  request.evaluator = line.has("--evaluator");
  request.config_only = line.has("--config-only");
  return operation(request);
}

Result<Operation> read_tf_multi_worker(OperatorLine line) {
  return operation(request_of(line));
}

}  // namespace muster::launch
