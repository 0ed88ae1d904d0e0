#include "toolkit/train.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "loop/wait.h"
#include "supervise/reaper.h"
#include "toolkit/follow.h"
#include "toolkit/job_files.h"
#include "toolkit/job_key.h"
#include "toolkit/lead.h"
#include "toolkit/report.h"

namespace muster::toolkit {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr Duration flush_wait = std::chrono::seconds(30);

struct Start {
  TrainOptions options;
  job::Training training;
  std::optional<int> steward_fd;
  std::string key;
};

/// The steward's stream, close-on-exec so that no program of the user's gets it.
Result<std::optional<int>> steward_stream(const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_STEWARD_FD");
  if (found == env.end()) return std::optional<int>();
  const std::optional<std::int64_t> number = parse_integer(found->second);
  if (!number || *number < 3 || ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC) != 0)
    return fail(Errc::invalid_input, "MUSTER_STEWARD_FD is \"" + found->second +
                                         "\", expected the number of an open descriptor");
  return std::optional<int>(static_cast<int>(*number));
}

loop::Task<> conduct(Conduct& part, Output& output, std::optional<job::Verdict>& verdict,
                     loop::Loop& loop) {
  verdict = co_await part.run();
  output.verdict(*verdict);
  co_await output.flushed(Clock::now() + flush_wait);
  loop.stop();
}

loop::Task<> pass_signals(loop::Signals& signals, Conduct& part) {
  while (true) {
    const Result<int> signal = co_await signals.next();
    if (!signal) co_return;
    part.stop(*signal);
  }
}

/// Runs this host's part of the job to its end.
job::Verdict run(const Start& start, const Env& env, const Log& log) {
  loop::Loop loop;
  supervise::Reaper reaper(loop);
  loop::Signals signals(loop, {SIGTERM, SIGINT});
  HostRun host_run(loop, reaper, start.training.current_host, log);
  Result<launch::HostPlan> plan = read_plan(start.training, env);
  job::Verdict failed;
  failed.host = start.training.current_host;
  if (!plan) {
    failed.outcome = job::Outcome::failed(plan.error().text);
    return failed;
  }
  Output output(loop, {start.steward_fd, plan->launcher == launch::Launcher::mpi});
  HostContext context{loop,      start.training, start.options, *std::move(plan),
                      start.key, host_run,       output,        log};
  std::unique_ptr<Conduct> part;
  if (start.training.current_host == start.training.leader)
    part = std::make_unique<Lead>(std::move(context));
  else
    part = std::make_unique<Follow>(std::move(context));
  std::optional<job::Verdict> verdict;
  loop.spawn(conduct(*part, output, verdict, loop));
  loop.spawn(pass_signals(signals, *part));
  loop.run();
  CHECK_THAT(verdict.has_value(), "the loop ends with the job");
  return *verdict;
}

Result<Start> prepare(const TrainOptions& options, const Env& env, const Log& log) {
  Start start;
  start.options = options;
  start.steward_fd = TRY(steward_stream(env));
  start.training = TRY(read_training(env));
  if (start.training.hosts.size() > 1) {
    JobKey key = TRY(job_key(env));
    if (!key.warning.empty()) log.warning(key.warning);
    start.key = std::move(key.bytes);
  }
  return start;
}

std::string base_of(const Env& env) {
  const Env::const_iterator found = env.find("SAGEMAKER_BASE_DIR");
  return found == env.end() ? "/opt/ml" : found->second;
}

int fail_with(const Env& env, const std::string& text, const Log& log) {
  log.error(text);
  const Result<void> written = report_failure(base_of(env), text);
  if (!written) log.error(written.error().text);
  return exit_failure;
}

int print_plan(const Start& start, const Env& env, const Log& log) {
  const Result<launch::HostPlan> plan = read_plan(start.training, env);
  if (!plan) {
    log.error(plan.error().text);
    return exit_failure;
  }
  return write_all(STDOUT_FILENO, launch::plan_text(*plan)) ? 0 : exit_failure;
}

}  // namespace

int train_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "train", Log::Level::info);
  const Result<TrainOptions> options = train_options(args, env);
  if (!options) {
    log.error(options.error().text);
    return exit_usage;
  }
  if (options->help) return write_all(STDOUT_FILENO, train_help()) ? 0 : exit_failure;
  const Result<Start> start = prepare(*options, env, log);
  if (!start && options->print_plan) {
    log.error(start.error().text);
    return exit_failure;
  }
  if (!start) return fail_with(env, start.error().text, log);
  if (options->print_plan) return print_plan(*start, env, log);

  const job::Verdict verdict = run(*start, env, log);
  if (verdict.success()) {
    const Result<void> written = report_success(base_of(env));
    if (!written) return fail_with(env, written.error().text, log);
    return 0;
  }
  if (verdict.outcome.is_stopped()) {
    log.info(job::describe(verdict));
    return job::exit_code(verdict.outcome);
  }
  log.error(job::describe(verdict));
  const Result<void> written = report_failure(base_of(env), job::failure_text(verdict));
  if (!written) log.error(written.error().text);
  return exit_failure;
}

}  // namespace muster::toolkit
