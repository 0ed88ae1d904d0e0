#pragma once

#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/launch/plan.h"
#include "job/training/training.h"

namespace muster::operators {

/// The log of a training container in the reference's form, on standard error: what was started,
/// and how it ended. sagemaker_container_log_level sets the level; MUSTER_TRAINING_LOG=1 also shows
/// the job's environment, and 0 turns the log off. An operator in an entry point writes about its
/// launch in the log of its host's `train`, which passes MUSTER_TRAINING_LOG on; elsewhere it is
/// quiet.
class TrainingLog {
 public:
  /// Error: `invalid_input` for an invalid log level.
  static Result<TrainingLog> open(const job::Training& training, const Env& env);
  /// An operator's: off where `env` has no MUSTER_TRAINING_LOG. Error: as open().
  static Result<TrainingLog> of_operator(const job::Training& training, const Env& env);

  /// What is about to run on this host, with the job's environment; secrets are masked.
  void invocation(const job::Training& training, const launch::HostPlan& plan) const;
  /// What an operator is about to launch over the hosts: on the leading host mpirun's line, on all
  /// what each rank runs; secrets are masked.
  void launch(const launch::HostPlan& plan) const;
  /// An operator's launch has ended: logged if another host led it.
  void launched(const launch::HostPlan& plan) const;
  bool shows_info() const;
  void info(std::string_view text) const;
  void warning(std::string_view text) const;
  /// False if the level excludes it: then the caller should report it in another way.
  bool error(std::string_view text) const;

 private:
  TrainingLog(int level, bool is_folded) : level_(level), is_folded_(is_folded) {}
  bool write(int level, std::string_view text) const;

  int level_;       ///< A number of Python's.
  bool is_folded_;  ///< The job's environment is counted, not shown.
};

}  // namespace muster::operators
