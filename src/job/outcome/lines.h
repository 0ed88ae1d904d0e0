#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::job {

enum class Stream : std::uint8_t { out = 1, err = 2 };

constexpr std::size_t line_bytes_max = 1u << 20;

/// Some whole lines that one writer wrote to one stream, in order. Each ends with '\n' (one that
/// ended with a lone '\r', as progress bars do, got a '\n' behind it), except that a chunk that is
/// `part` is exactly one unfinished piece of a line without '\n': a line
/// beyond `line_bytes_max`, or one left unfinished for a while. What follows a `part` of the same
/// writer and stream continues that line.
struct Lines {
  int rank = -1;  ///< -1: not a rank, muster itself or a launcher's own output.
  Stream stream = Stream::out;
  bool part = false;
  std::string bytes;   ///< At most `line_bytes_max`; any bytes.
  bool alone = false;  ///< The rank is its host's only program: logs of the host need no tag.
  bool steps = false;  ///< Each line ended with a lone '\r', as a progress bar's states do.

  bool operator==(const Lines&) const = default;
};

/// Payload of a `lines` frame: i32 LE rank, u8 stream, u8 flags (1 = part, 2 = alone, 4 = steps),
/// bytes.
std::string encode(const Lines& lines);
Result<Lines> lines_from(std::string_view payload);
/// The rank alone, unchecked; -1 for a payload that is cut short.
int rank_of_lines(std::string_view payload);

}  // namespace muster::job
