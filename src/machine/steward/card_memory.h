#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::steward {

/// The processes that hold memory of a host's cards, from a list that the driver's tool prints
/// every few seconds. They explain why a program lacked memory.
///
/// Pure, except for `name`.
class CardMemory {
 public:
  /// `places`: the numbers of the host's cards, by bus_name(). `name`: HostProcesses::name_of().
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
  /// The cards on which a rank was ever listed; empty: unknown.
  std::set<int> gpus_of(int rank) const;

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
  std::map<std::string, std::set<int>> gpus_of_;  ///< By a rank's name.
  List last_;
  List kept_;             ///< The list at the last report; empty: none.
  TimePoint reported_{};  ///< When `kept_` was kept, or the host failed.
  bool failed_ = false;
  int rank_ = -1;
};

}  // namespace muster::steward
