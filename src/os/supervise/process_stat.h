#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::supervise {

/// What /proc/PID/stat says of a process. Source: proc(5).
struct ProcessStat {
  char state = '?';
  std::int64_t parent = 0;
  std::int64_t faults = 0;          ///< Minor and major ones.
  std::int64_t ticks = 0;           ///< In user and kernel mode, all threads.
  std::int64_t children_ticks = 0;  ///< Ticks of children that were waited for.
  std::int64_t threads = 0;
  std::int64_t started = 0;  ///< Ticks since the machine's start; with the pid: this process alone.

  /// Nothing of it runs any more. One whose first thread alone has ended is a zombie, too.
  bool has_ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};
/// Fields that are not there count as 0. Pure.
ProcessStat stat_from(std::string_view text);
/// None if there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);

}  // namespace muster::supervise
