#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "job/outcome/lines.h"

namespace muster::cli {

/// What each rank wrote last, for a job that ran out of time: who has been silent longest is who
/// the others wait for. Pure.
class LastLines {
 public:
  void take(const std::string& host, UnixMillis time, const job::Lines& lines);
  /// The job is asked to stop at `now`: what its ranks say from now on is about that.
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
