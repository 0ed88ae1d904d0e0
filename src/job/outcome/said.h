#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/outcome/lines.h"

namespace muster::job {

/// A line that a program wrote, without its end.
struct SaidLine {
  Stream stream = Stream::err;
  std::string text;
  /// The number of the read that brought its first byte, counted over both streams.
  std::uint64_t began = 0;
  /// The number of the read that brought its last byte. Two lines of one write() have one read.
  std::uint64_t ended = 0;

  bool operator==(const SaidLine&) const = default;
};

/// Marks omitted lines.
inline constexpr std::string_view left_out = "[...]";

/// The beginning and the end of a text that is longer than `bytes_max` (at least 64), whole
/// characters of UTF-8 where it is such. Pure.
std::string shortened(std::string_view text, std::size_t bytes_max);

/// The lines of both streams in their order, as one text of at most `bytes_max` without an end of
/// line: all, or else the traceback that names the error, and the last ones of each stream; neither
/// takes more than half from the other. Pure.
std::string said_text(const std::vector<SaidLine>& lines, std::size_t bytes_max);

}  // namespace muster::job
