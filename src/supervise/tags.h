#pragma once

#include <optional>
#include <string>

#include "job/lines.h"

namespace muster::supervise {

/// Gives lines the reference package's tags, `[1,mpirank:R,algo-K]<stdout>:`, so that lines of two
/// ranks never stand on one line: an unfinished line that another writer breaks into is ended, and
/// its rest gets a tag of its own. Pure.
class TagWriter {
 public:
  /// The text to write for `lines` of a rank on `host`. Lines of rank -1 get no tag.
  std::string tagged(const std::string& host, const job::Lines& lines);

 private:
  std::optional<std::string> open_;  ///< The writer whose line is unfinished.
};

}  // namespace muster::supervise
