#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Hands the file at `path` on by pieces of a MiB, until `take` says false or `bytes_max` bytes
/// were read (rounded up to a piece). Where there is no file there is no piece; a link is not
/// followed. Blocks. Error: `system`.
Result<void> read_file_pieces(const std::string& path,
                              const std::function<bool(std::string_view piece)>& take,
                              std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max());

}  // namespace muster
