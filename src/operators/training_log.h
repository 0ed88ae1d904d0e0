#pragma once

#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/training.h"
#include "launch/plan.h"

namespace muster::operators {

/// The log of a training container in the reference's form, on standard error: what was started,
/// and how it ended. sagemaker_container_log_level says how much; MUSTER_TRAINING_LOG=1 shows the
/// job's environment, too, and 0 turns the log off. An operator that an entry point calls tells its
/// launch in the log of its host's `train`, which hands MUSTER_TRAINING_LOG on; elsewhere it
/// is quiet.
class TrainingLog {
 public:
  /// Error: `invalid_input` for a log level that is none.
  static Result<TrainingLog> open(const job::Training& training, const Env& env);
  /// An operator's: off where `env` has no MUSTER_TRAINING_LOG. Error: as open().
  static Result<TrainingLog> of_operator(const job::Training& training, const Env& env);

  /// What is about to run on this host, with the job's environment; secrets are masked.
  void invocation(const job::Training& training, const launch::HostPlan& plan) const;
  /// What an operator is about to launch over the hosts: on the leading host mpirun's line, on all
  /// what each rank runs; secrets are masked.
  void launch(const launch::HostPlan& plan) const;
  /// An operator's launch has ended: told where another host led it.
  void launched(const launch::HostPlan& plan) const;
  bool shows_info() const;
  void info(std::string_view text) const;
  void warning(std::string_view text) const;
  /// False if the level leaves it out: then somebody else should say it.
  bool error(std::string_view text) const;

 private:
  TrainingLog(int level, bool is_folded) : level_(level), is_folded_(is_folded) {}
  bool write(int level, std::string_view text) const;

  int level_;       ///< A number of Python's.
  bool is_folded_;  ///< The job's environment is counted, not shown.
};

}  // namespace muster::operators
