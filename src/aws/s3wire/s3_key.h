#pragma once

#include <cstddef>

namespace muster::s3wire {

/// The limit of an object's key. Source: S3's user guide, "Naming Amazon S3 objects".
inline constexpr std::size_t key_bytes_max = 1024;

}  // namespace muster::s3wire
