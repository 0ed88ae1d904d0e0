#pragma once

#include <chrono>
#include <string>

#include "platform/life_cycle.h"

namespace muster::platform {

/// Whether a job that lost its machines starts again, and how often.
///
/// Pure. Source: decisions/0047-slurm.md, "Attempts".
class Retries {
 public:
  struct Limits {
    int most = 2;       ///< Further attempts after a host was lost; preemptions do not count.
    int idle_most = 3;  ///< Attempts one after the other, of any kind, that got nowhere.
  };
  explicit Retries(Limits limits) : limits_(limits) {}

  struct Answer {
    bool again = false;
    std::string text;  ///< For a person: why it starts again, or why not any more; may be empty.
  };
  /// How an attempt ended; `got_on`: it left a checkpoint that the one before had not.
  Answer after(const JobEnd& end, bool got_on);

 private:
  Limits limits_;
  int lost_ = 0;
  int idle_ = 0;
};

}  // namespace muster::platform
