#include "host/toolkit/train.h"

#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/terminal.h"
#include "host/calls/conduct_job.h"
#include "host/env/base_dir.h"
#include "host/env/job_files.h"
#include "host/operators/planning.h"
#include "host/toolkit/prepare.h"
#include "host/toolkit/report.h"

namespace muster::toolkit {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

Result<calls::JobStart> prepare(const env::TrainOptions& options, const Env& env, const Log& log) {
  calls::JobStart start;
  start.options = options;
  start.env = env;
  start.env.try_emplace("MUSTER_TRAINING_LOG", "");  // Operators log their launches there.
  start.steward_fd = TRY(calls::steward_stream(env));
  start.training = TRY(env::read_training(env));
  start.key = TRY(calls::key_for(start.training, env, log));
  // The only script of a host needs no connections.
  start.socket = start.training.hosts.size() > 1 || operators::has_framework(start.training) ||
                 operators::launches(start.training);
  return start;
}

int fail_with(const Env& env, const Error& error, const Log& log) {
  log.error(error.text);
  const std::string text = job::framework_failure_text(error.text);
  const Result<void> written = report_failure(env::base_dir(env), text);
  if (!written) log.error(written.error().text);
  return job::framework_exit_code(error);
}

int print_plan(const calls::JobStart& start, const Env& env, const Log& log) {
  const Result<launch::HostPlan> plan = operators::plan_host(start.training, env);
  if (!plan) {
    log.error(plan.error().text);
    return exit_failure;
  }
  return say(STDOUT_FILENO, launch::plan_text(*plan)) ? 0 : exit_failure;
}

/// A framework's module exits with its own code, that of its error. This does not apply to a module
/// that was ended because of another host.
int failure_code(const calls::JobStart& start, const calls::JobEnd& end) {
  const bool own = end.verdict.host == start.training.current_host;
  if (!own || !operators::has_framework(start.training) || !end.own || end.own->success())
    return exit_failure;
  return job::exit_code(end.own->outcome);
}

std::string model_folder(const job::Training& training) {
  return training.facts.base_dir + "/model";
}

/// Whether this host has a model. Other hosts may have one, and a framework's module logs this
/// itself.
bool has_model(const job::Training& training) {
  if (operators::has_framework(training) || training.current_host != training.leader) return true;
  const Result<std::vector<std::string>> names = names_in(model_folder(training));
  return names && !names->empty();
}

/// A host's log line of the verdict. Only the steward may see that the kernel ran out of memory, so
/// a SIGKILL here names both explanations.
std::string line_of(const job::Verdict& verdict) {
  const bool may_be_memory = verdict.outcome.kind == job::Outcome::Kind::signaled &&
                             verdict.outcome.number == SIGKILL && !verdict.out_of_memory;
  return job::describe(verdict) +
         (may_be_memory ? " (sm explain signal, sm explain out-of-memory)" : "");
}

/// Writes the outcome files; returns the exit status.
int report(const calls::JobStart& start, const calls::JobEnd& end, const Env& env, const Log& log,
           const operators::TrainingLog& training_log) {
  const job::Verdict& verdict = end.verdict;
  if (verdict.success()) {
    if (!has_model(start.training))
      training_log.warning("No model artifact is saved under path " + model_folder(start.training));
    training_log.info("Reporting training SUCCESS");
    const Result<void> written = report_success(env::base_dir(env));
    if (!written) return fail_with(env, written.error(), log);
    return 0;
  }
  if (verdict.outcome.is_stopped()) {
    log.info(job::describe(verdict));
    return job::exit_code(verdict.outcome);
  }
  const std::string text = job::failure_text(verdict);
  const bool told = training_log.error("Reporting training FAILURE") && training_log.error(text);
  if (!told) log.error(line_of(verdict));
  const Result<void> written = report_failure(env::base_dir(env), text);
  if (!written) log.error(written.error().text);
  return failure_code(start, end);
}

}  // namespace

int train_main(const Args& args, const Env& given_env) {
  const Log log(STDERR_FILENO, "train", Log::Level::info);
  const Result<Env> full = env::full_environment(given_env);
  if (!full) {
    static_cast<void>(forget_end(env::base_dir(given_env)));  // Existing errors are reported below.
    return fail_with(given_env, full.error(), log);
  }
  Result<env::TrainOptions> options = env::train_options(*full);
  if (!options) {
    log.error(options.error().text);
    return exit_usage;
  }
  if (const std::optional<command::Stop> stop = env::read_train_flags(args, *options))
    return tell(*stop, log);
  const Result<Env> placed = env::placed(*full, options->hosts);
  if (!placed) {
    log.error(placed.error().text);
    return exit_usage;
  }
  const Env& env = *placed;
  if (!options->print_plan) {
    const Result<void> forgotten = forget_end(env::base_dir(env));
    if (!forgotten) return fail_with(env, forgotten.error(), log);
  }
  const Result<calls::JobStart> start = prepare(*options, env, log);
  if (!start && options->print_plan) {
    log.error(start.error().text);
    return exit_failure;
  }
  if (!start) return fail_with(env, start.error(), log);
  if (options->print_plan) return print_plan(*start, env, log);

  const Result<void> made = make_result_folders(env::base_dir(env));
  if (!made) return fail_with(env, made.error(), log);
  const Result<operators::TrainingLog> training_log =
      operators::TrainingLog::open(start->training, env);
  if (!training_log) return fail_with(env, training_log.error(), log);
  Preparation preparation(start->training, env, log, *training_log);
  const calls::JobEnd end = calls::conduct_job(
      *start, [&preparation](calls::Workshop& workshop) { return preparation.run(workshop); }, log);
  preparation.tell_end();
  return report(*start, end, env, log, *training_log);
}

}  // namespace muster::toolkit
