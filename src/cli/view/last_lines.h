#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "job/outcome/lines.h"

namespace muster::cli {

/// The last line of each rank, for a job that exceeded its time limit: the rank that has been
/// silent longest is the one that the others wait for. Pure.
class LastLines {
 public:
  void take(const std::string& host, UnixMillis time, const job::Lines& lines);
  /// The job was asked to stop at `now`: later lines of its ranks are about the stop.
  void freeze(UnixMillis now);
  /// A line for each rank, indented, the longest silent first, the first 16; empty before freeze().
  std::string text() const;

 private:
  struct Last {
    UnixMillis time{0};
    std::string line;
  };
  std::map<std::pair<std::string, int>, Last> last_;
  std::optional<UnixMillis> end_;
};

}  // namespace muster::cli
