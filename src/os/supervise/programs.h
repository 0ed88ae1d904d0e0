#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "job/outcome/outcome.h"
#include "net/loop/loop.h"

namespace muster::supervise {

class Reaper;

/// Runs the few short programs that a job needs besides its stewards. One exists in a process: it
/// holds the reaper of all children.
class Programs {
 public:
  struct Done {
    job::Outcome outcome;
    std::string out;  ///< At most 1 MiB; what comes beyond is read and dropped.
    std::string err;
  };

  explicit Programs(loop::Loop& loop);
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs();

  /// Runs `command` with no input to its end. It is killed after `limit`: `timeout`; and, where
  /// it is `bound`, when the task is destroyed or this process ends. Besides 0, 1 and 2 it gets the
  /// descriptors `kept`, by the same numbers. Errors of the start as supervise::spawn gives them.
  loop::Task<Result<Done>> run(Command command, Duration limit, bool bound = false,
                               std::vector<int> kept = {});
  Reaper& reaper() { return *reaper_; }
  loop::Loop& loop() { return loop_; }

 private:
  loop::Loop& loop_;
  std::unique_ptr<Reaper> reaper_;
};

}  // namespace muster::supervise
