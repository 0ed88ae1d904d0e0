#pragma once

#include <chrono>
#include <string>

#include "engine/engine.h"
#include "platform/life_cycle.h"

namespace muster::platform {

/// Whether a job that lost its machines, or their GPUs, starts again, and how often.
///
/// Pure. Source: decisions/0047-slurm.md, "Attempts".
class Retries {
 public:
  /// `most`: maximum number of restarts after a host was lost or a GPU failed; preemptions do not
  /// count; 0: no restarts. `before`: the tally of earlier attempts, from another process.
  explicit Retries(int most, engine::Tally before = {}) : most_(most), tally_(before) {}
  /// Attempts one after the other, of any kind, that got nowhere.
  static constexpr int idle_most = 3;

  struct Answer {
    bool again = false;
    std::string text;  ///< For a person: why it starts again, or why not any more; may be empty.
  };
  /// How an attempt ended; `got_on`: it left a checkpoint that the one before had not.
  Answer after(const JobEnd& end, bool got_on);
  engine::Tally tally() const { return tally_; }

 private:
  int most_;
  engine::Tally tally_;
};

}  // namespace muster::platform
