#pragma once

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
  std::string open_;  ///< Tag of the writer whose line is unfinished; empty if none is.
};

}  // namespace muster::supervise
