#include "host/toolkit/prepare.h"

#include <algorithm>
#include <memory>

#include "base/files/plain_file.h"
#include "host/code/code_folder.h"
#include "host/code/codeartifact.h"
#include "host/code/deliver.h"
#include "host/code/install.h"
#include "host/env/options.h"
#include "host/operators/planning.h"
#include "host/ranks/host_run.h"
#include "host/toolkit/refusals.h"
#include "job/launch/operators.h"
#include "job/launch/plan_inputs.h"

namespace muster::toolkit {
namespace {

/// The script of a job without a launcher is a rank, one on each host. A shell script or another
/// program may be anything, for example a caller of an operator.
int rank_of(const job::Training& training) {
  const std::string& entry = training.user_entry_point;
  if (launch::entry_point_kind(entry, false) == launch::EntryPoint::command) return -1;
  const auto at = std::find(training.hosts.begin(), training.hosts.end(), training.current_host);
  return static_cast<int>(at - training.hosts.begin());
}

constexpr std::size_t script_head_bytes = 64u << 10;

/// A script that cannot be read is reported elsewhere.
Result<void> check_script_lines(const std::string& folder, const std::string& name) {
  const Result<std::string> head = read_head(folder + "/" + name, script_head_bytes);
  return head ? launch::check_line_ends(name, *head) : Result<void>();
}

calls::Work work_of(const job::Training& training, launch::HostPlan plan) {
  calls::Work work;
  work.name = training.user_entry_point;
  if (plan.launcher != launch::Launcher::process) {
    work.call = launch::call_from(plan, launch::launcher_name(plan) + " " + work.name, "");
    return work;
  }
  work.rank = rank_of(training);
  work.program = std::move(plan.rank);
  return work;
}

/// Runs a program of the preparation to its end; its lines are shown as the host's own.
loop::Task<job::Verdict> run_program(calls::Workshop& workshop, ranks::HostRun::Program program) {
  const auto ended = std::make_shared<loop::Event>(workshop.loop);
  const auto verdict = std::make_shared<std::optional<job::Verdict>>();
  program.on_end = [ended, verdict](job::Verdict end) {
    *verdict = std::move(end);
    ended->notify();
  };
  job::Verdict failed;
  failed.process = program.name;
  const Result<void> started = workshop.host_run.start(std::move(program));
  if (!started) {
    failed.outcome = job::Outcome::failed(started.error().text);
    co_return failed;
  }
  while (!*verdict) co_await ended->wait();
  co_return **verdict;
}

}  // namespace

loop::Task<calls::Prepared> Preparation::run(calls::Workshop& workshop) {
  if (operators::has_framework(training_)) {
    calls::Work work;
    work.name = *training_.framework_module;
    work.program = operators::framework_command(*training_.framework_module, env_);
    co_return calls::Prepared(std::move(work));
  }
  std::optional<job::Verdict> end = co_await bring_code(workshop);
  if (!end) workshop.output.mark(job::Mark::code);
  if (!end) end = co_await install(workshop);
  if (end) co_return calls::Prepared(*std::move(end));
  co_return plan_work();
}

loop::Task<std::optional<job::Verdict>> Preparation::bring_code(calls::Workshop& workshop) {
  Result<void> checked = job::check_entry_point(training_.user_entry_point);
  if (checked) checked = launch::check_names(training_.hyperparameters);
  if (!checked) co_return failed(checked.error());
  const std::string uri = training_.module_dir;
  const std::string folder = training_.code_dir();
  const Result<code::DeliverReport> delivered =
      co_await code::deliver(workshop.loop, env_, uri, folder, log_);
  if (!delivered) co_return failed(delivered.error());
  co_return std::nullopt;
}

loop::Task<std::optional<job::Verdict>> Preparation::install(calls::Workshop& workshop) {
  const Result<std::string> index = co_await package_index(workshop);
  if (!index) co_return failed(index.error());
  const Result<code::CodeFolder> folder =
      code::look_at(training_.code_dir(), training_.user_entry_point);
  if (!folder) co_return failed(folder.error());
  std::optional<code::Install> install =
      code::plan_install(*folder, training_.user_entry_point, operators::python_for(env_),
                         training_.code_dir(), env::user_environment(env_), *index);
  const bool package = code::is_package(*folder, training_.user_entry_point);
  Result<void> done;
  if (launch::entry_point_kind(training_.user_entry_point, package) ==
      launch::EntryPoint::command) {
    done = check_script_lines(training_.code_dir(), training_.user_entry_point);
    if (done) done = code::make_executable(training_.code_dir(), training_.user_entry_point);
  }
  if (!done) co_return failed(done.error());
  if (!install) co_return std::nullopt;
  training_log_.info(install->says);
  ranks::HostRun::Program program;
  program.name = "pip";
  program.user = true;
  program.command = std::move(install->command);
  program.sink = [&workshop, this](job::Lines lines) {
    return workshop.output.lines(training_.current_host, std::move(lines));
  };
  const job::Verdict ended = co_await run_program(workshop, std::move(program));
  if (ended.success()) {
    workshop.output.mark(job::Mark::packages);
    co_return std::nullopt;
  }
  job::Verdict verdict = ended;
  verdict.host = training_.current_host;
  verdict.error_class = install->error_class;
  co_return verdict;
}

/// The package index of CodeArtifact if the job names one; otherwise empty. It contains a token.
loop::Task<Result<std::string>> Preparation::package_index(calls::Workshop& workshop) {
  const Env::const_iterator arn = env_.find("CA_REPOSITORY_ARN");
  if (arn == env_.end() || arn->second.empty()) co_return std::string();
  const std::string repository = arn->second;
  Result<std::string> index = co_await code::codeartifact_index(workshop.loop, env_, repository);
  co_return index;
}

/// As in the reference: hosts that only take part in the leader's launch show no command.
void Preparation::tell_plan(const launch::HostPlan& plan) const {
  if (training_.facts.num_gpus == 0)
    training_log_.info("No GPUs detected (normal if no gpus installed)");
  for (const std::string& line : plan.log) training_log_.info(line);
  if (plan.launcher != launch::Launcher::mpi || plan.launcher_command)
    training_log_.invocation(training_, plan);
}

void Preparation::tell_end() const {
  if (plan_) training_log_.launched(*plan_);
}

calls::Prepared Preparation::plan_work() {
  operators::Wish wish;
  wish.display_map = training_log_.shows_info();
  Result<launch::HostPlan> plan = operators::plan_host(training_, env_, wish);
  if (!plan) return failed(plan.error());
  std::vector<const Command*> commands = {&plan->rank};
  if (plan->launcher_command) commands.push_back(&*plan->launcher_command);
  for (const launch::HostProgram& program : plan->programs) commands.push_back(&program.command);
  for (const Command* each : commands)
    if (const Result<void> checked = launch::check_lengths(*each); !checked)
      return failed(checked.error());
  tell_plan(*plan);
  plan_ = *plan;
  calls::Work work = work_of(training_, *std::move(plan));
  if (!work.program || !launch::wants_operator(training_)) return work;
  Result<Command> program = operators::under_operator(training_, *std::move(work.program), log_);
  if (!program) return failed(program.error());
  work.program = *std::move(program);
  work.rank = -1;  // The operator's programs are ranks, the script is not.
  return work;
}

job::Verdict Preparation::failed(const Error& error) const {
  job::Verdict verdict;
  verdict.host = training_.current_host;
  verdict.process = training_.user_entry_point;
  verdict.outcome = job::Outcome::failed(error.text);
  return verdict;
}

}  // namespace muster::toolkit
