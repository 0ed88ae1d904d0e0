#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/text.h"
#include "job/launch/launchers.h"
#include "job/launch/operators.h"
#include "job/launch/rank_line.h"
#include "job/launch/site.h"
#include "job/limits.h"

namespace muster::launch {
namespace {

/// Options of torchrun that say who and where the hosts are. Source: torch 2.0.1, run.py.
constexpr std::string_view standalone_flag = "--standalone";
constexpr std::string_view nnodes_flag = "--nnodes";
constexpr std::array<std::string_view, 9> owned = {
    "--nnodes",        "--node-rank", "--master-addr",  "--master-port", "--local-addr",
    "--rdzv-endpoint", "--rdzv-id",   "--rdzv-backend", standalone_flag};
constexpr std::string_view processes_flag = "--nproc-per-node";

/// Set by our caller: torchrun reads the same options from PET_*, and libraries take a
/// TORCHELASTIC_* for a sign that an agent watches.
constexpr std::array<const char*, 12> foreign = {
    "PET_NNODES",         "PET_NODE_RANK",           "PET_MASTER_ADDR",
    "PET_MASTER_PORT",    "PET_LOCAL_ADDR",          "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",        "PET_RDZV_BACKEND",        "PET_STANDALONE",
    "PET_NPROC_PER_NODE", "TORCHELASTIC_ERROR_FILE", "TORCHELASTIC_RUN_ID"};

/// As its parser takes an option: '_' for '-'.
std::string option_name(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// What `name` is, or is short for, as Python's parsers allow; empty if nothing of ours.
std::string_view owner_of(const std::string& name) {
  if (!name.starts_with("--") || name.size() < 3) return {};
  for (const std::string_view option : owned)
    if (option.starts_with(name)) return option;
  return {};
}

Result<int> process_count(const std::string& text) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (number && *number >= 1 && *number <= job::processes_per_host_max)
    return static_cast<int>(*number);
  return fail(Errc::invalid_input, std::string(processes_flag) + " is \"" + to_utf8(text) +
                                       "\"; expected a number from 1 to " +
                                       std::to_string(job::processes_per_host_max));
}

/// Refuses an option that muster itself sets. A value that a job of one host has anyway is not an
/// error.
Result<void> check_owned(const std::string& word, std::string_view option, std::size_t hosts) {
  const std::string given = to_utf8(word.substr(0, word.find('=')));
  if (option == nnodes_flag && word.find(':') != std::string::npos)
    return fail(Errc::invalid_input, given +
                                         " MIN:MAX is not supported: a lost host ends the job; to "
                                         "restart the job, use sm fit --spares and --retries");
  if (option != standalone_flag)
    return fail(Errc::invalid_input, given + " is not allowed: muster sets " + std::string(option));
  if (hosts == 1) return {};
  return fail(Errc::invalid_input, given + " supports only one host, but this job has " +
                                       std::to_string(hosts) +
                                       "; omit this option so that the hosts train together");
}

/// Leaves torchrun's own options in the request, checked.
Result<TorchrunRequest> read_options(TorchrunRequest request, std::size_t hosts) {
  Args kept;
  const Args words = std::move(request.agent_options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    const std::string_view option = owner_of(name);
    if (!option.empty()) {
      const bool apart = words[i].find('=') == std::string::npos && i + 1 < words.size();
      TRY(check_owned(words[i] + (apart ? "=" + words[i + 1] : ""), option, hosts));
      continue;
    }
    if (name.size() < 4 || !processes_flag.starts_with(name)) {
      kept.push_back(words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos && i + 1 == words.size())
      return fail(Errc::invalid_input, std::string(processes_flag) + ": expected a value");
    request.processes_per_host =
        TRY(process_count(equals == std::string::npos ? words[++i] : words[i].substr(equals + 1)));
  }
  request.agent_options = std::move(kept);
  return request;
}

Env cleaned(Env env) {
  for (const char* name : foreign) env.erase(name);
  return env;
}

/// torch before 2.4 looks at its processes only every 5 s, and so ends or reports a failure up to 5
/// s late; later versions look ten times a second.
Args watch_options(const TorchrunRequest& request) {
  constexpr std::string_view option = "--monitor-interval";
  for (const std::string& word : request.agent_options) {
    const std::string name = option_name(word);
    if (name.size() > 3 && option.starts_with(name)) return {};
  }
  if (request.command.env.contains("PET_MONITOR_INTERVAL")) return {};
  return {"--monitor_interval", "0.1"};
}

HostProgram agent(const TorchrunRequest& request, const TorchScript& script, const Site& site,
                  int place, int processes, const std::string& port) {
  Command command = request.command;
  command.env = without_script_options(cleaned(std::move(command.env)));
  Args& argv = command.argv = torchrun_of(request.python);
  const auto add = [&argv](const Args& words) {
    argv.insert(argv.end(), words.begin(), words.end());
  };
  // Underscores: torch 1 knows no other spelling.
  add({"--nnodes", std::to_string(site.hosts.size()), "--nproc_per_node", std::to_string(processes),
       "--node_rank", std::to_string(place), "--master_addr", name_for_programs(site, 0),
       "--master_port", port});
  add(watch_options(request));
  add(script.agent_options);
  add({"--no_python"});
  add(rank_line(request.sm, script.argv));
  return {"torchrun", -1, std::move(command), true, true};
}

Result<void> check_direct(const TorchScript& script) {
  if (script.agent_options.empty()) return {};
  return fail(Errc::invalid_input,
              "--launcher direct does not use torchrun and supports only -m, --no-python and "
              "--run-path; omit " +
                  to_utf8(script.agent_options.front()));
}

/// The variables that torchrun 2.0.1 sets for its processes, and NODE_RANK, which some libraries
/// read. TORCHELASTIC_USE_AGENT_STORE: rank 0 itself listens on MASTER_PORT.
Env rank_variables(int place, int local, int rank, const std::vector<int>& counts) {
  int total = 0;
  for (const int count : counts) total += count;
  const std::string world = std::to_string(total);
  return {{"RANK", std::to_string(rank)},
          {"LOCAL_RANK", std::to_string(local)},
          {"WORLD_SIZE", world},
          {"LOCAL_WORLD_SIZE", std::to_string(counts[static_cast<std::size_t>(place)])},
          {"NODE_RANK", std::to_string(place)},
          {"GROUP_RANK", std::to_string(place)},
          {"GROUP_WORLD_SIZE", std::to_string(counts.size())},
          {"ROLE_NAME", "default"},
          {"ROLE_RANK", std::to_string(rank)},
          {"ROLE_WORLD_SIZE", world},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_MAX_RESTARTS", "0"},
          {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
}

std::vector<HostProgram> ranks(const TorchrunRequest& request, const TorchScript& script,
                               const Site& site, int place, const std::vector<int>& counts,
                               const std::string& port) {
  Command command = request.command;
  command.argv = script.argv;
  command.env = cleaned(std::move(command.env));
  const int here = counts[static_cast<std::size_t>(place)];
  command.env["MASTER_ADDR"] = name_for_programs(site, 0);
  command.env["MASTER_PORT"] = port;
  command.env.try_emplace("NCCL_ASYNC_ERROR_HANDLING", "1");
  if (here > 1) command.env.try_emplace("OMP_NUM_THREADS", "1");
  int rank = 0;
  for (int i = 0; i < place; ++i) rank += counts[static_cast<std::size_t>(i)];
  std::vector<HostProgram> programs;
  for (int local = 0; local < here; ++local, ++rank) {
    HostProgram program{"rank " + std::to_string(rank), rank, command, true};
    for (const auto& [name, value] : rank_variables(place, local, rank, counts))
      program.command.env[name] = value;
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace

Result<HostPlan> plan_torchrun(const TorchrunRequest& asked, const Site& site) {
  const int place = TRY(place_of_self(site));
  TRY(check_command(asked.command, "a script"));
  const TorchrunRequest request = TRY(read_options(asked, site.hosts.size()));
  const std::vector<int> counts =
      TRY(process_counts(site, request.processes_per_host, std::string(processes_flag)));
  const std::string port = TRY(port_of(site, 0, 0, "torchrun"));
  HostPlan plan = direct_plan(site, asked.command);
  plan.ranks_near_gpus = !request.direct;
  plan.ranks_here = counts[static_cast<std::size_t>(place)];
  for (const int count : counts) plan.ranks_total += count;
  const TorchScript script = TRY(torch_script(request.python, request.agent_options,
                                              request.command.argv, request.command.env));
  if (request.direct) TRY(check_direct(script));
  if (request.direct)
    plan.programs = ranks(request, script, site, place, counts, port);
  else
    plan.programs.push_back(agent(request, script, site, place, plan.ranks_here, port));
  plan.rank.argv = script.argv;
  return plan;
}

namespace {

/// torchrun's own options stand before the script. Those that take no value; all others do.
bool takes_no_value(const std::string& option) {
  static const std::set<std::string> names = {"--standalone", "--no-python", "--no_python",
                                              "--run-path",   "--run_path",  "-m",
                                              "--module",     "--help",      "-h"};
  return names.contains(option) || option.find('=') != std::string::npos;
}

/// Splits a line into torchrun's options and the script with its arguments.
void split_options(TorchrunRequest& request) {
  Args& words = request.command.argv;
  std::size_t at = 0;
  while (at < words.size() && words[at].starts_with('-')) at += takes_no_value(words[at]) ? 1 : 2;
  const auto script = words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size()));
  request.agent_options.assign(words.begin(), script);
  words.erase(words.begin(), script);
}

}  // namespace

Result<Operation> read_torchrun(OperatorLine line) {
  TorchrunRequest request;
  if (line.has("--nproc-per-node")) request.processes_per_host = line.number("--nproc-per-node");
  request.direct = line.text("--launcher") == "direct";
  request.python = std::move(line.python);
  request.sm = std::move(line.sm);
  request.command = std::move(line.command);
  split_options(request);
  if (request.command.argv.empty()) return fail(Errc::invalid_input, "expected a script to run");
  return Operation{leaders_port,
                   [request](const Site& site) { return plan_torchrun(request, site); },
                   request.direct};
}

}  // namespace muster::launch
