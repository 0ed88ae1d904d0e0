#include "machine/node/node.h"

#include <limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "command/line.h"
#include "machine/node/job_place.h"
#include "machine/node/node_daemon.h"
#include "machine/node/take_job.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/devices/gpu_figures.h"
#include "os/supervise/own_root.h"

namespace muster::node {
namespace {

constexpr int exit_untaken = 1;

struct NodeArgs {
  std::string job_file;
  std::string steward;
};

/// The parsed command line, or the reason why it is not run.
std::variant<NodeArgs, command::Stop> node_args(const Args& args) {
  const command::Page& page = command::page_of("node");
  command::Line line(page);
  NodeArgs given;
  line.text("--job", given.job_file);
  line.text("--steward", given.steward);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  if (given.job_file.empty()) return command::wrong_line(page, "expected --job FILE");
  return given;
}

/// From the scheduler's variable: a job's hosts are in its order of nodes, followed by the spares.
Result<std::string> own_host(const Env& env, const job::NodeJob& job) {
  const Env::const_iterator found = env.find("SLURM_PROCID");
  const std::optional<std::int64_t> number =
      found == env.end() ? std::nullopt : parse_integer(found->second);
  const int hosts = job.spec.instance_count;
  const int nodes = hosts + job.spec.spares;
  if (number && *number >= 0 && *number < hosts) return "algo-" + std::to_string(*number + 1);
  if (number && *number >= hosts && *number < nodes)
    return "spare-" + std::to_string(*number - hosts + 1);
  return fail(Errc::invalid_input, "SLURM_PROCID: expected a number from 0 to " +
                                       std::to_string(nodes - 1) +
                                       (found == env.end() ? ", but the variable is not set"
                                                           : ", got " + to_utf8(found->second)));
}

std::string own_node(const Env& env) {
  const Env::const_iterator found = env.find("SLURMD_NODENAME");
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string node = found == env.end() ? name.data() : found->second;
  const auto is_odd = [](char c) { return c <= ' ' || c > '~'; };
  std::replace_if(node.begin(), node.end(), is_odd, '?');
  return node.substr(0, 255);
}

/// Positions in the node's list of GPUs, regardless of which GPUs a control group shows to the
/// step.
std::vector<int> own_gpus(const Env& env) {
  const Env::const_iterator found = env.find("SLURM_STEP_GPUS");
  return found == env.end() ? std::vector<int>() : devices::gpu_numbers(found->second);
}

/// With these variables, a host's programs would act as part of the scheduler's job.
Env without_schedulers(Env env) {
  std::erase_if(env, [](const auto& entry) {
    return entry.first.starts_with("SLURM") || entry.first.starts_with("PMI");
  });
  return env;
}

/// A step whose daemon was lost would run on for hours.
void end_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/// Catches the scheduler's signals for as long as this process has files to remove, also where no
/// NodeDaemon heeds them.
class Taken {
 public:
  Taken() { tasks_.start(wait()); }
  /// Whether the scheduler has taken the node from this job.
  bool poll() {
    loop_.restart();
    loop_.poll();
    return taken_;
  }

 private:
  loop::Task<> wait() { taken_ = (co_await signals_.next()).has_value(); }

  loop::Loop loop_;
  loop::Signals signals_{loop_, {SIGTERM, SIGINT, SIGHUP}};
  bool taken_ = false;
  loop::Tasks tasks_{loop_};
};

Result<void> run(const NodeArgs& given, const Env& env, Taken& taken, const Log& log) {
  job::NodeJob job = TRY(take_job(given.job_file));
  const std::string program = given.steward.empty() ? TRY(own_program()) : given.steward;
  NodeDaemon::Options options{program, without_schedulers(env), TRY(own_host(env, job)),
                              own_node(env), own_gpus(env)};
  if (!job.light && ::geteuid() != 0) {  // While there is only one thread.
    const Result<supervise::OwnRoot> own = supervise::become_own_root(options.env);
    if (!own) options.no_root = own.error().text;
    end_with_parent();
  }
  std::optional<NodeFolder> folder;
  while (!taken.poll()) {  // Once for each attempt in which this node takes part.
    const Log own(STDERR_FILENO, "sm node[" + options.host + "]", log.level());
    loop::Loop loop;
    NodeDaemon daemon(loop, job, options, own, std::exchange(folder, std::nullopt));
    loop::Tasks tasks(loop);
    tasks.start(daemon.run());
    loop.run();
    const std::optional<job::NodeAgain>& again = daemon.again();
    folder = daemon.take_folder();
    if (!again || !folder) break;
    job.nonce = again->nonce;
    job.key = again->key;
    job.rollcall_port = again->rollcall_port;
    options.host = again->host;
  }
  return {};
}

}  // namespace

int node_main(const Args& args, const Env& env) {
  end_with_parent();
  ::umask(077);
  const Log log(STDERR_FILENO, "sm node", Log::Level::info);
  const std::variant<NodeArgs, command::Stop> line = node_args(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line)) return tell(*stop, log);
  const NodeArgs& given = std::get<NodeArgs>(line);
  Taken taken;
  const Result<void> ran = run(given, env, taken, log);
  if (!ran) log.error(ran.error().text);
  const Result<void> removed = remove_place_of(given.job_file);
  if (!removed) log.error(removed.error().text);
  return ran ? 0 : exit_untaken;
}

}  // namespace muster::node
