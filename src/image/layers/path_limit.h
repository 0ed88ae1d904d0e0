#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace muster::image {

constexpr std::size_t path_bytes_max = 4095;  ///< The kernel's own.
constexpr std::size_t path_parts_max = 256;

/// A path of an archive's member, before anything is made of it: libarchive gives names of 1 MiB.
/// Null is an empty one. Error: `protocol` beyond a limit. Pure.
Result<std::string_view> checked_path(const char* raw);

}  // namespace muster::image
