#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/slurm/queries.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cluster {

/// The nodes of a cluster, for callers that ask every few seconds, such as viewers of a page. Slurm
/// is asked at most once in `hold`, however many ask.
class KeptNodes {
 public:
  using Nodes = std::vector<slurm::Node>;
  using Ask = std::function<loop::Task<Result<Nodes>>()>;
  struct Times {
    Duration hold = std::chrono::seconds(30);
    Duration wait = std::chrono::seconds(2);  ///< For an answer, if there is none of the last hold.
  };
  KeptNodes(loop::Loop& loop, Ask ask, Times times);

  /// Slurm's last answer, at most `hold` old, or its error. Error: `timeout` if Slurm has not
  /// answered within `wait`; its answer is kept for the next call. Never null.
  loop::Task<Result<std::shared_ptr<const Nodes>>> read();

 private:
  loop::Task<> ask();

  Ask ask_;
  Times times_;
  Result<std::shared_ptr<const Nodes>> last_;
  TimePoint until_ = TimePoint::min();  ///< `last_` is used up to here.
  bool asking_ = false;
  loop::Event answered_;
  loop::Tasks tasks_;
};

}  // namespace muster::cluster
