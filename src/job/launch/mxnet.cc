#include "base/text.h"
#include "job/launch/launchers.h"
#include "job/launch/operators.h"
#include "job/launch/site.h"

namespace muster::launch {
namespace {

int count_of(int asked, std::size_t hosts) {
  return asked == 0 ? static_cast<int>(hosts) : asked;
}

/// `import mxnet` is all of a scheduler's or a server's work: it serves and then ends the program.
/// Source: sagemaker-mxnet-training 4.3.0, training.py.
Args server_words(const MxnetRequest& request) {
  const std::string& program = request.command.argv[0];
  const std::string name = program.substr(program.rfind('/') + 1);
  return {name.starts_with("python") && !name.ends_with(".py") ? program : request.python, "-c",
          "import mxnet"};
}

/// The scheduler listens on the very address that the others call it by, and wants digits there. A
/// leading host that knows only its name listens on all addresses instead.
Env common_variables(const Site& site, const std::string& port, int servers, int workers) {
  Env env = {{"DMLC_PS_ROOT_PORT", port},
             {"DMLC_NUM_SERVER", std::to_string(servers)},
             {"DMLC_NUM_WORKER", std::to_string(workers)}};
  if (site.hosts.size() > 1 && site.hosts[0].address.empty()) {
    env["DMLC_PS_ROOT_URI"] = site.hosts[0].name;
    env["DMLC_USE_KUBERNETES"] = "1";
  } else {
    env["DMLC_PS_ROOT_URI"] = site.hosts.size() == 1 ? "127.0.0.1" : site.hosts[0].address;
  }
  return env;
}

/// Where this host's servers and workers listen, unless the user says it.
void set_own_address(Env& env, const Site& site, std::size_t place) {
  if (env.contains("DMLC_INTERFACE")) return;
  const std::string address = site.hosts.size() == 1 ? "127.0.0.1" : site.hosts[place].address;
  if (!address.empty()) env.try_emplace("DMLC_NODE_HOST", address);
}

class Programs {
 public:
  Programs(const MxnetRequest& request, const Env& variables, Env env)
      : request_(request), base_(request.command) {
    base_.env = std::move(env);
    for (const auto& [name, value] : variables) base_.env[name] = value;
  }

  HostProgram worker(int index) const { return program("worker", index, index); }
  HostProgram server(int index, int rank) const { return program("server", index, rank); }
  HostProgram scheduler(int rank) const { return program("scheduler", -1, rank); }

 private:
  HostProgram program(const std::string& role, int index, int rank) const {
    HostProgram result{role, rank, base_, role == "worker"};
    if (index >= 0) result.name += " " + std::to_string(index);
    result.command.env["DMLC_ROLE"] = role;
    result.command.argv =
        role == "worker" ? started(request_.python, request_.command.argv) : server_words(request_);
    return result;
  }

  const MxnetRequest& request_;
  Command base_;
};

/// What another launcher may have left: a rank keeps the program from taking its own.
Env cleaned(Env env) {
  for (const char* name : {"DMLC_RANK", "DMLC_WORKER_ID", "DMLC_SERVER_ID", "DMLC_LOCAL"})
    env.erase(name);
  return env;
}

/// The numbers that the host at `place` gets when `count` are dealt over the hosts in turn.
std::vector<int> dealt_to(std::size_t place, int count, std::size_t hosts) {
  std::vector<int> mine;
  for (int i = static_cast<int>(place); i < count; i += static_cast<int>(hosts)) mine.push_back(i);
  return mine;
}

}  // namespace

Result<HostPlan> plan_mxnet(const MxnetRequest& request, const Site& site) {
  const auto place = static_cast<std::size_t>(TRY(place_of_self(site)));
  TRY(check_command(request.command, "a program"));
  const std::size_t hosts = site.hosts.size();
  const int servers = count_of(request.servers, hosts);
  const int workers = count_of(request.workers, hosts);
  TRY(check_count("--num-servers", servers, hosts));
  TRY(check_count("--num-workers", workers, hosts));
  const std::string port = TRY(port_of(site, 0, 0, "the scheduler"));
  Env env = cleaned(request.command.env);
  set_own_address(env, site, place);
  const Programs programs(request, common_variables(site, port, servers, workers), std::move(env));
  HostPlan plan = direct_plan(site, request.command);
  // Who is waited for comes first.
  if (place == 0) plan.programs.push_back(programs.scheduler(workers + servers));
  for (const int i : dealt_to(place, servers, hosts))
    plan.programs.push_back(programs.server(i, workers + i));
  const std::vector<int> mine = dealt_to(place, workers, hosts);
  for (std::size_t n = 0; n < mine.size(); ++n) {
    HostProgram worker = programs.worker(mine[n]);
    set_gpus(worker.command.env, site.hosts[place].gpus, static_cast<int>(n),
             static_cast<int>(mine.size()));
    plan.programs.push_back(std::move(worker));
  }
  plan.ranks_here = static_cast<int>(plan.programs.size());
  plan.ranks_total = workers + servers + 1;
  return plan;
}

Result<Operation> read_mxnet(OperatorLine line) {
  const MxnetRequest request{line.number("--num-servers"), line.number("--num-workers"),
                             std::move(line.python), std::move(line.command)};
  return Operation{leaders_port, [request](const Site& site) { return plan_mxnet(request, site); }};
}

}  // namespace muster::launch
