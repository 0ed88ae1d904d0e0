#pragma once

#include "base/command.h"
#include "base/log.h"
#include "host/calls/conduct_job.h"
#include "host/operators/training_log.h"
#include "job/training/training.h"

namespace muster::toolkit {

/// Prepares the work of `train`: a framework's module is started as it is; in script mode, copies
/// the code to the code folder, installs its requirements, and lets the plan decide what runs.
class Preparation {
 public:
  /// All arguments outlive this.
  Preparation(const job::Training& training, const Env& env, const Log& log,
              const operators::TrainingLog& training_log)
      : training_(training), env_(env), log_(log), training_log_(training_log) {}
  loop::Task<calls::Prepared> run(calls::Workshop& workshop);
  /// Logs the end of the job if this host took part in a launch of the leader.
  void tell_end() const;

 private:
  loop::Task<std::optional<job::Verdict>> bring_code(calls::Workshop& workshop);
  loop::Task<std::optional<job::Verdict>> install(calls::Workshop& workshop);
  loop::Task<Result<std::string>> package_index(calls::Workshop& workshop);
  calls::Prepared plan_work();
  void tell_plan(const launch::HostPlan& plan) const;
  job::Verdict failed(const Error& error) const;

  const job::Training& training_;
  const Env& env_;
  const Log& log_;
  const operators::TrainingLog& training_log_;
  std::optional<launch::HostPlan> plan_;  ///< Set when it is known.
};

}  // namespace muster::toolkit
