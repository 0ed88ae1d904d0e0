#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::steward {

/// Names a process of this machine that holds a card's memory, as seen by the host whose first
/// process is `init`: "rank 3", "process 12 of the host" (as the host counts), "process 4711
/// outside the job", "another user's process". Reads /proc.
std::string holder_name(std::int64_t pid, pid_t init);

/// The processes that hold memory of a host's cards, from a list that the driver's tool prints
/// every few seconds. They explain why a program lacked memory.
///
/// Pure, except for `name`.
class CardMemory {
 public:
  /// `places`: the numbers of the host's cards, by bus_name(). `name`: holder_name() of the host.
  CardMemory(std::map<std::string, int> places, std::function<std::string(std::int64_t)> name);

  /// Lines of devices::compute_apps_command(), which replace the earlier list unless none of them
  /// is about the host's cards.
  void take(std::string_view list, TimePoint time);
  /// A program reports a lack of memory: keeps the current list, because the program's end changes
  /// the next one.
  void keep(TimePoint now);
  /// The host failed for lack of memory; `rank` is the rank that failed, or -1.
  void blame(int rank, TimePoint now);
  /// "memory of GPU 3, 2 s before: 60 GiB by rank 0, 12.5 GiB by another user's process", for the
  /// cards that the failed rank held, else for all of the host's; the fullest first, at most four.
  /// Empty without a failure of this kind, or a list from the seconds before it.
  std::vector<std::string> lines() const;

 private:
  struct Held {
    int gpu = 0;
    std::int64_t bytes = 0;
    std::string by;
  };
  struct List {
    TimePoint time{};
    std::vector<Held> held{};
  };
  std::map<std::string, int> places_;
  std::function<std::string(std::int64_t)> name_;
  List last_;
  List kept_;             ///< The list at the last report; empty: none.
  TimePoint reported_{};  ///< When `kept_` was kept, or the host failed.
  bool failed_ = false;
  int rank_ = -1;
};

}  // namespace muster::steward
