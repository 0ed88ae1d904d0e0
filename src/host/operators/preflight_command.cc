#include <unistd.h>

#include "base/terminal.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "host/calls/conduct_job.h"
#include "host/env/job_files.h"
#include "host/env/place.h"
#include "host/operators/operator.h"
#include "host/operators/operator_commands.h"

namespace muster::operators {
namespace {

using command::exit_failed;
using command::exit_usage;

loop::Task<calls::Prepared> nothing_to_run(calls::Workshop&) {
  co_return calls::Prepared(job::Verdict{});
}

Result<job::Verdict> compare(const job::Training& training, const Env& env, const Log& log) {
  const calls::JobStart start = TRY(job_start(training, env, log));
  return calls::conduct_job(start, nothing_to_run, log).verdict;
}

}  // namespace

int preflight_main(const Args& args, const Env& own_env) {
  const Log log = log_of("preflight");
  command::Line line(command::page_of("preflight"));
  bool json = false;
  line.flag("--json", json);
  env::HostFlags hosts;
  hosts.bind_place(line);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop, log);
  Result<Env> env = env::placed(own_env, hosts);
  if (!env) {
    log.error(env.error().text);
    return exit_usage;
  }
  env->insert_or_assign("MUSTER_PREFLIGHT", std::string(json ? "json" : "full"));
  const Result<job::Training> training = env::read_site(*env);
  if (training && env->contains("MUSTER_SOCKET")) {
    log.error(
        "this command cannot run inside a job; to compare a job's hosts before training starts, "
        "start the job with --preflight");
    return exit_usage;
  }
  if (training && training->hosts.size() == 1) {
    log.error(
        "there is only one host, so there is nothing to compare; list all hosts with --hosts");
    return exit_usage;
  }
  // The findings begin with "preflight" themselves.
  const Log brief(STDERR_FILENO, "sm", Log::Level::info);
  const Result<job::Verdict> verdict =
      training ? compare(*training, *env, brief) : Result<job::Verdict>(training.error());
  if (!verdict) {
    log.error(verdict.error().text);
    return exit_failed;
  }
  if (!verdict->success()) log.error(job::describe(*verdict));
  return job::exit_code(verdict->outcome);
}

}  // namespace muster::operators
