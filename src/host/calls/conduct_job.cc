#include "host/calls/conduct_job.h"

#include <fcntl.h>

#include <csignal>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "host/calls/follow.h"
#include "host/calls/lead.h"
#include "host/env/job_key.h"
#include "host/env/place.h"
#include "job/host_spec.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/devices/numa.h"
#include "os/supervise/failure_file.h"
#include "os/supervise/reaper.h"

namespace muster::calls {
namespace {

constexpr Duration flush_wait = std::chrono::seconds(30);

struct Running {
  loop::Loop& loop;
  Conduct& part;
  Output& output;
  Intermediate* intermediate;  ///< Null without any.
  std::optional<job::Verdict>& verdict;
  const std::string& ml_folder;
};

loop::Task<> conduct(Running running) {
  running.verdict = co_await running.part.run();
  const TimePoint uploaded_by = Clock::now() + upload_wait;
  if (running.intermediate != nullptr) co_await running.intermediate->finish(uploaded_by);
  job::Verdict told = *running.verdict;
  if (!told.success()) told.failure_file = supervise::failure_text(running.ml_folder);
  running.output.verdict(told);
  const TimePoint flushed_by = Clock::now() + flush_wait;
  co_await running.output.flushed(flushed_by);
  running.loop.stop();
}

loop::Task<> pass_signals(loop::Signals& signals, Conduct& part) {
  while (true) {
    const Result<int> signal = co_await signals.next();
    if (!signal) co_return;
    part.stop(*signal);
  }
}

}  // namespace

Result<std::optional<int>> steward_stream(const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_STEWARD_FD");
  if (found == env.end()) return std::optional<int>();
  if (found->second.starts_with('/')) {
    // A user program that dropped root's rights may not be able to open it; then its lines take the
    // other route.
    Fd stream(::open(found->second.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return stream ? std::optional<int>(stream.release()) : std::nullopt;
  }
  const std::optional<std::int64_t> number = parse_integer(found->second);
  if (!number || *number < 3 || ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC) != 0)
    return fail(Errc::invalid_input, "MUSTER_STEWARD_FD is \"" + found->second +
                                         "\"; expected the number of an open file descriptor");
  return std::optional<int>(static_cast<int>(*number));
}

Result<std::string> key_for(const job::Training& training, const Env& env, const Log& log) {
  if (training.roll_call_hosts().size() == 1) return std::string();
  env::JobKey key = TRY(env::job_key(env));
  if (!key.warning.empty()) log.warning(key.warning);
  return std::move(key.bytes);
}

Intermediate::Options intermediate_options(const job::Training& training) {
  Intermediate::Options options;
  options.folder = training.facts.base_dir + "/output/intermediate";
  options.s3_output = training.s3_output;
  options.job_name = training.job_name;
  return options;
}

namespace {

/// The job's variables for operators. The only script of a host gets just those that configure its
/// operators: the log variable is for operators that can reach a `train`.
Env for_operators(const Env& env, bool socket) {
  Env result;
  const auto take = [&](const char* name) {
    if (const Env::const_iterator found = env.find(name); found != env.end()) result.insert(*found);
  };
  for (const char* name : {"MUSTER_MPI_TRANSPORT", "MUSTER_STOP_DEADLINE"}) take(name);
  // With a socket, `train` places the ranks itself.
  if (!socket) take(job::numa_variable);
  if (!socket) return result;
  // The job's hosts, if no file names them to operators.
  for (const char* name :
       {"MUSTER_TRAINING_LOG", "MUSTER_HOSTS", "MUSTER_HOST", "MUSTER_INTERFACE"})
    take(name);
  return result;
}

}  // namespace

JobEnd conduct_job(const JobStart& start, const Prepare& prepare, const Log& log) {
  loop::Loop loop;
  supervise::Reaper reaper(loop);
  loop::Signals signals(loop, {SIGTERM, SIGINT});
  Output output(loop, start.steward_fd);
  output.mark(job::Mark::begun);
  ranks::HostRun host_run(loop, reaper, start.training.current_host, log);
  if (const auto gpus = start.env.find(job::numa_variable); gpus != start.env.end())
    host_run.know_gpus(devices::numa_from(gpus->second));
  Workshop workshop{loop, host_run, output};
  HostContext context{loop,          start.training,
                      start.options, start.key,
                      host_run,      output,
                      log,           [&prepare, &workshop] { return prepare(workshop); },
                      start.socket,  for_operators(start.env, start.socket)};
  const std::string& own = start.training.current_host;
  const auto failed = [&own](const Error& error) {
    return JobEnd{verdict_of(job::Outcome::failed(error.text), own, "train"), std::nullopt};
  };
  if (start.training.roll_call_hosts().size() > 1)
    if (const Result<void> good = env::check_own_and_leader(own, start.training.leader); !good)
      return failed(good.error());
  Result<PreflightOptions> preflight = preflight_options(start.env, start.steward_fd.has_value());
  if (!preflight) return failed(preflight.error());
  context.preflight = *std::move(preflight);
  std::unique_ptr<Conduct> part;
  if (own == start.training.leader)
    part = std::make_unique<Lead>(std::move(context));
  else
    part = std::make_unique<Follow>(std::move(context));
  Result<std::unique_ptr<Intermediate>> intermediate =
      Intermediate::start(loop, start.env, log, intermediate_options(start.training));
  if (!intermediate) return failed(intermediate.error());
  std::optional<job::Verdict> verdict;
  loop::Tasks tasks(loop);
  tasks.start(
      conduct({loop, *part, output, intermediate->get(), verdict, start.training.facts.base_dir}));
  tasks.start(pass_signals(signals, *part));
  loop.run();
  CHECK_THAT(verdict.has_value(), "the loop ends with the job");
  return {*verdict, part->own_end()};
}

}  // namespace muster::calls
