#pragma once

#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/launch/plan.h"
#include "job/training/training.h"

namespace muster::operators {

/// The log of a training container in the reference's form, on standard error: the started command,
/// and how it ended. sagemaker_container_log_level sets the level; MUSTER_TRAINING_LOG=1 also shows
/// the job's environment, and 0 turns the log off. An operator in an entry point logs its launch to
/// its host's `train`, which passes MUSTER_TRAINING_LOG on; elsewhere it logs nothing.
class TrainingLog {
 public:
  /// Error: `invalid_input` for an invalid log level.
  static Result<TrainingLog> open(const job::Training& training, const Env& env);
  /// An operator's log: off if `env` has no MUSTER_TRAINING_LOG. Error: as open().
  static Result<TrainingLog> of_operator(const job::Training& training, const Env& env);

  /// Logs the command that is about to run on this host, with the job's environment; secrets are
  /// masked.
  void invocation(const job::Training& training, const launch::HostPlan& plan) const;
  /// Logs an operator's launch: on the leading host mpirun's command line, on all hosts the command
  /// of each rank; secrets are masked.
  void launch(const launch::HostPlan& plan) const;
  /// Logs the end of an operator's launch, if another host led it.
  void launched(const launch::HostPlan& plan) const;
  bool shows_info() const;
  void info(std::string_view text) const;
  void warning(std::string_view text) const;
  /// False if the level excludes it: then the caller should report it in another way.
  bool error(std::string_view text) const;

 private:
  TrainingLog(int level, bool is_folded) : level_(level), is_folded_(is_folded) {}
  bool write(int level, std::string_view text) const;

  int level_;       ///< A log level of Python.
  bool is_folded_;  ///< The variables of the job's environment are counted, not shown.
};

}  // namespace muster::operators
