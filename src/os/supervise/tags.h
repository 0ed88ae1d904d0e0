#pragma once

#include <optional>
#include <string>

#include "job/outcome/lines.h"

namespace muster::supervise {

/// Adds the reference package's tags to lines, `[1,mpirank:R,algo-K]<stdout>:`, so that output of
/// two ranks is never on one line: if another writer interrupts an unfinished line, that line is
/// ended, and its rest gets a new tag. Pure.
class TagWriter {
 public:
  /// The text to write for `lines` of a rank on `host`. Lines of rank -1 get no tag.
  std::string tagged(const std::string& host, const job::Lines& lines);

 private:
  std::optional<std::string> open_;  ///< The writer whose line is unfinished.
};

}  // namespace muster::supervise
