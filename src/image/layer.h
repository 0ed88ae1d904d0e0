#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "image/budget.h"

namespace muster::image {

/// What a layer may hold, besides its share of the image's budget.
struct LayerLimits {
  std::uint64_t bytes_max = 512ull << 30;  ///< The tar, and the files with their holes.
  std::uint64_t entries_max = 10'000'000;
};

struct LayerReport {
  std::uint64_t entries = 0;
  std::uint64_t tar_bytes = 0;   ///< The tar's size, not compressed.
  std::uint64_t disk_bytes = 0;  ///< What its folder takes: holes do not count.
  std::uint64_t left_out = 0;    ///< Devices that no image needs.
  /// A line for each of those, at most `said_max`, and one for owners that cannot be kept.
  std::vector<std::string> said;
  static constexpr std::size_t said_max = 20;
};

/// Unpacks a layer's tar, whatever packed it, into the empty folder `root` as an overlay's lower
/// folder over `lowers` (the highest first): owners, modes with setuid, links as they are, holes of
/// files (also those that were packed as zeros), whiteouts in the overlay's form. `diff_id` is what
/// the tar must hash to; empty: whoever gives the bytes answers for them. Names are made to fit
/// below `root`, as if it were "/"; nothing else is touched. What is read and written, and the
/// processor time for it, count in `budget`, which is for all layers of an image.
///
/// Blocks. On an error `root` holds a part of it, which is the caller's to remove. Errors:
/// `protocol` (damaged, cut short, another tar, beyond a limit; by igzip it may name another cause
/// than zlib would), `system` (the disk is full).
/// Source: OCI image specification 1.1, layer.md; the kernel's filesystems/overlayfs.rst.
Result<LayerReport> unpack_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                                 const std::string& root, const std::vector<std::string>& lowers,
                                 const LayerLimits& limits, Budget& budget,
                                 Gunzip by = Gunzip::zlib);

/// Reads a layer to its end, and keeps nothing of it: it is the one that `diff_id` names. Counts in
/// `budget` as above. Blocks. Errors: `protocol` (damaged, another tar, beyond a limit), `system`.
Result<void> check_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                         const LayerLimits& limits, Budget& budget);

}  // namespace muster::image
