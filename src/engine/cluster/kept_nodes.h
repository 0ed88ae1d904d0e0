#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/result.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cluster {

/// The list of a cluster's nodes, for callers that ask every few seconds, such as viewers of a
/// page. Slurm is asked at most once in `hold`, however many ask.
class KeptNodes {
 public:
  using Ask = std::function<loop::Task<Result<Json>>()>;
  struct Times {
    Duration hold = std::chrono::seconds(30);
    Duration wait = std::chrono::seconds(2);  ///< The longest that a call waits for Slurm.
    Duration late = std::chrono::minutes(2);  ///< How long after `hold` the old answer may serve.
  };
  KeptNodes(loop::Loop& loop, Ask ask, Times times);

  /// Slurm's last answer or error. If it is older than `hold`, Slurm is asked again; if Slurm does
  /// not answer within `wait`, the old answer serves, until it is older than `hold` + `late`.
  /// Error: also `timeout`, if there is none; a late answer is kept for the next call.
  loop::Task<Result<Json>> read();

 private:
  loop::Task<> ask();

  Ask ask_;
  Times times_;
  Result<Json> last_;
  TimePoint until_ = TimePoint::min();  ///< Until then, `last_` is used without asking.
  bool asking_ = false;
  loop::Event answered_;
  loop::Tasks tasks_;
};

}  // namespace muster::cluster
