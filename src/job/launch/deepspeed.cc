// DeepSpeed. Its own command, `deepspeed`, reads a hostfile and reaches the hosts by pdsh and ssh;
// on each of them it starts a node launcher, `python -m deepspeed.launcher.launch`, which starts
// the host's ranks. Here every host starts its own node launcher: no hostfile, no ssh. Source:
// microsoft/DeepSpeed 0.16.5, deepspeed/launcher/{runner,launch,multinode_runner}.py.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "base/base64.h"
#include "base/port.h"
#include "base/text.h"
#include "job/launch/efa.h"
#include "job/launch/launchers.h"
#include "job/launch/rank_line.h"
#include "job/launch/site.h"

namespace muster::launch {
namespace {

constexpr const char* node_launcher = "deepspeed.launcher.launch";
/// TORCH_DISTRIBUTED_DEFAULT_PORT of deepspeed/constants.py.
constexpr const char* default_port = "29500";
constexpr const char* processes_flag = "--num_gpus";

/// Where the ranks of a job are, and where they meet.
struct World {
  Args hosts;
  std::vector<int> counts;  ///< Ranks on each of the hosts.
  std::size_t place = 0;    ///< The own host, among them.
  std::string address;      ///< The first host, as the others call it.
  std::string port;

  int here() const { return counts[place]; }
  int total() const { return std::accumulate(counts.begin(), counts.end(), 0); }
  int first_rank() const {
    const auto end = counts.begin() + static_cast<std::ptrdiff_t>(place);
    return std::accumulate(counts.begin(), end, 0);
  }
};

/// Local devices, 0 to count - 1.
std::vector<int> devices(int count) {
  std::vector<int> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// {"algo-1": [0, 1], ...} in base64 with the alphabet for URLs. A host's number is its place in
/// the text, so that names keep the job's order.
std::string world_info(const World& world) {
  nlohmann::ordered_json info = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < world.hosts.size(); ++i)
    info[to_utf8(world.hosts[i])] = devices(world.counts[i]);
  std::string text = base64(info.dump());
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

/// A line of `sm deepspeed`.
struct Request {
  bool direct = false, module = false, no_python = false, no_local_rank = false;
  std::optional<int> processes;  ///< On each host.
  int port = 0;                  ///< 0: one that is free on the leading host.
  Args options;                  ///< For the node launcher alone.
  std::string python;
  std::string sm;   ///< Absolute path of our binary.
  Command command;  ///< argv: the script and its arguments.
};

/// What the node launcher starts: a rank's program, and where in it `--local_rank=N` has its place.
struct RankProgram {
  Args argv;
  std::optional<std::size_t> local_rank_at;
};

/// As the node launcher starts a script, where it starts it itself.
RankProgram rank_program(const Request& request) {
  RankProgram result;
  if (!request.no_python) result.argv = {request.python, "-u"};
  if (request.module) result.argv.emplace_back("-m");
  if (!request.no_local_rank) result.local_rank_at = result.argv.size() + 1;
  result.argv.insert(result.argv.end(), request.command.argv.begin(), request.command.argv.end());
  return result;
}

/// `options`: flags that the node launcher takes, as it takes them. It would put --local_rank=N
/// behind the first word of what it starts, which is ours: `sm rank` puts it where it belongs.
Args launcher_line(const std::string& python, const std::string& sm, const World& world,
                   const Args& options, const RankProgram& program) {
  Args words = {python,
                "-u",
                "-m",
                node_launcher,
                "--world_info=" + world_info(world),
                "--node_rank=" + std::to_string(world.place),
                "--master_addr=" + world.address,
                "--master_port=" + world.port};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--no_python", "--no_local_rank"});
  Args rank = rank_line(sm, program.argv);
  if (program.local_rank_at)
    rank.insert(rank.begin() + 2, {"--local-rank-at", std::to_string(*program.local_rank_at)});
  words.insert(words.end(), rank.begin(), rank.end());
  return words;
}

/// For NCCL between the hosts, as torchrun's runner; the user's own settings stand.
void set_fabric(const Inputs& inputs, const Options& options, Env& env) {
  if (!options.on_platform) env.try_emplace("NCCL_SOCKET_IFNAME", inputs.interface);
  if (has_efa(inputs.instance_type)) env.try_emplace("FI_PROVIDER", "efa");
  if (!has_efa_rdma(inputs.instance_type)) return;
  env.try_emplace("FI_EFA_USE_DEVICE_RDMA", "1");
  env.try_emplace("RDMAV_FORK_SAFE", "1");
}

/// Options of DeepSpeed's commands that have no place here, and why.
struct Refused {
  std::string_view name;
  std::string_view why;
};
constexpr std::string_view hosts_are_given = "muster sets the hosts";
constexpr std::string_view no_ssh = "each host starts its own processes, without ssh";
constexpr std::string_view all_devices =
    "all hosts take part; --num_gpus sets the number of processes";
constexpr std::string_view not_elastic = "the job's hosts are fixed; a lost host ends the job";
constexpr std::string_view own_word = "muster sets it";
constexpr std::array<Refused, 23> refused = {{
    {"-H", hosts_are_given},
    {"--hostfile", hosts_are_given},
    {"--num_nodes", hosts_are_given},
    {"-i", all_devices},
    {"--include", all_devices},
    {"-e", all_devices},
    {"--exclude", all_devices},
    {"--launcher_args", no_ssh},
    {"--no_ssh", no_ssh},
    {"--no_ssh_check", no_ssh},
    {"--ssh_port", no_ssh},
    {"--force_multi", no_ssh},
    {"--elastic_training", not_elastic},
    {"--enable_elastic_training", not_elastic},
    {"--min_elastic_nodes", not_elastic},
    {"--max_elastic_nodes", not_elastic},
    {"--master_addr", own_word},
    {"--node_rank", own_word},
    {"--world_info", own_word},
    {"--save_pid", "muster terminates the processes that it started"},
    {"--autotuning", "the autotuner starts its own jobs"},
    {"--venv_script", "the job's interpreter runs all scripts"},
    {"-m", "use DeepSpeed's --module"},
}};

/// Refuses an unknown option before the script. Error: `invalid_input`.
Result<void> check_script(const Args& words) {
  const std::string& word = words.front();
  if (!word.starts_with('-') || word == "-") return {};
  std::string name = word.substr(0, word.find('='));
  if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '-', '_');
  for (const Refused& option : refused)
    if (name == option.name)
      return fail(Errc::invalid_input, name + " is not allowed: " + std::string(option.why));
  const std::string given = to_utf8(word.substr(0, word.find('=')));
  return fail(Errc::invalid_input, "unknown flag \"" + given + "\"");
}

Result<Request> request_of(OperatorLine line) {
  Request request;
  request.direct = line.text("--launcher") == "direct";
  request.module = line.has("--module");
  request.no_python = line.has("--no_python");
  request.no_local_rank = line.has("--no_local_rank");
  if (line.has(processes_flag)) request.processes = line.number(processes_flag);
  request.port = line.number("--master_port");
  for (const char* name : {"--bind_cores_to_rank", "--bind_core_list", "--enable_each_rank_log"}) {
    if (!line.has(name)) continue;
    const bool takes_value = std::string_view(name) != "--bind_cores_to_rank";
    request.options.push_back(name + (takes_value ? "=" + line.text(name) : ""));
    if (request.direct)
      return fail(Errc::invalid_input,
                  std::string("--launcher direct does not use DeepSpeed; omit ") + name);
  }
  if (request.module && request.no_python)
    return fail(Errc::invalid_input, "--module and --no_python cannot be combined");
  if (request.port > port_max)
    return fail(Errc::invalid_input, "--master_port is " + std::to_string(request.port) +
                                         "; expected a number from 1 to " +
                                         std::to_string(port_max));
  TRY(check_script(line.command.argv));
  request.python = std::move(line.python);
  request.sm = std::move(line.sm);
  request.command = std::move(line.command);
  return request;
}

Result<World> world_of(const Request& request, const Site& site) {
  World world;
  world.place = static_cast<std::size_t>(TRY(place_of_self(site)));
  world.counts = TRY(process_counts(site, request.processes, processes_flag));
  for (const Site::Host& host : site.hosts) world.hosts.push_back(host.name);
  world.address = name_for_programs(site, 0);
  world.port =
      request.port != 0 ? std::to_string(request.port) : TRY(port_of(site, 0, 0, "DeepSpeed"));
  return world;
}

HostProgram agent(const Request& request, const World& world) {
  Command command = request.command;
  command.argv =
      launcher_line(request.python, request.sm, world, request.options, rank_program(request));
  return {"deepspeed", -1, std::move(command), true, true};
}

/// A rank as the node launcher would start it. There LOCAL_RANK is the rank modulo the host's
/// ranks, which is another order of the same numbers where hosts differ; here it goes up on every
/// host.
HostProgram rank(const Request& request, const World& world, int local) {
  const int number = world.first_rank() + local;
  Command command = request.command;
  RankProgram program = rank_program(request);
  if (program.local_rank_at)
    program.argv.insert(program.argv.begin() + static_cast<std::ptrdiff_t>(*program.local_rank_at),
                        "--local_rank=" + std::to_string(local));
  command.argv = std::move(program.argv);
  const Env variables = {{"RANK", std::to_string(number)},
                         {"LOCAL_RANK", std::to_string(local)},
                         {"WORLD_SIZE", std::to_string(world.total())},
                         {"MASTER_ADDR", world.address},
                         {"MASTER_PORT", world.port},
                         {"CROSS_RANK", std::to_string(world.place)},
                         {"CROSS_SIZE", std::to_string(world.hosts.size())},
                         {"LOCAL_SIZE", std::to_string(world.here())}};
  for (const auto& [name, value] : variables) command.env[name] = value;
  return {"rank " + std::to_string(number), number, std::move(command), true};
}

Result<HostPlan> plan_request(const Request& request, const Site& site) {
  const World world = TRY(world_of(request, site));
  HostPlan plan = direct_plan(site, request.command);
  plan.ranks_here = world.here();
  plan.ranks_total = world.total();
  plan.rank.argv = rank_program(request).argv;
  if (!request.direct) plan.programs.push_back(agent(request, world));
  for (int local = 0; request.direct && local < world.here(); ++local)
    plan.programs.push_back(rank(request, world, local));
  return plan;
}

}  // namespace

Result<HostPlan> plan_deepspeed(const Inputs& inputs, const Options& options) {
  HostPlan result;
  result.launcher = Launcher::direct;
  result.rank = TRY(script_command(inputs, options, "DeepSpeed", ""));
  const auto own = std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host);
  World world;
  world.hosts = inputs.hosts;
  world.counts.assign(inputs.hosts.size(), inputs.processes_per_host);
  world.place = static_cast<std::size_t>(own - inputs.hosts.begin());
  world.address = inputs.hosts.size() == 1 ? "127.0.0.1" : inputs.hosts.front();
  world.port = default_port;
  set_fabric(inputs, options, result.rank.env);
  Request request;
  request.python = options.python;
  request.sm = options.sm;
  request.command = result.rank;
  request.command.argv.erase(request.command.argv.begin());  // PYTHON SCRIPT ARGS…
  result.rank.argv = rank_program(request).argv;
  result.ranks_here = world.here();
  result.ranks_total = world.total();
  result.programs.push_back(agent(request, world));
  return result;
}

Result<Operation> read_deepspeed(OperatorLine line) {
  const Request request = TRY(request_of(std::move(line)));
  const bool direct = request.direct;
  return Operation{request.port == 0 ? leaders_port : no_ports,
                   [request](const Site& site) { return plan_request(request, site); }, direct};
}

}  // namespace muster::launch
