#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "image/layers/budget.h"

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

/// Unpacks a layer's tar, compressed or not, into the empty folder `root` as an overlay's lower
/// folder over `lowers` (the highest first): owners, modes with setuid, links unchanged, holes of
/// files (also those packed as zeros), whiteouts in the overlay's form. The tar must have the
/// digest `diff_id`; if that is empty, the caller has verified the bytes. Names are resolved below
/// `root`, as if it were "/"; nothing else is changed. Bytes read and written, and processor time,
/// count in `budget`, which all layers of an image share.
///
/// Blocks. On an error `root` has part of the layer, and the caller removes it. Errors: `protocol`
/// (damaged, truncated, wrong digest, beyond a limit; with igzip the cause may differ from zlib's),
/// `system` (the disk is full). Source: OCI image specification 1.1, layer.md; the kernel's
/// filesystems/overlayfs.rst.
Result<LayerReport> unpack_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                                 const std::string& root, const std::vector<std::string>& lowers,
                                 const LayerLimits& limits, Budget& budget,
                                 Gunzip by = Gunzip::zlib);

/// Reads a layer to its end, and keeps nothing of it: it is the one that `diff_id` names. Counts in
/// `budget` as above. Blocks. Errors: `protocol` (damaged, another tar, beyond a limit), `system`.
Result<void> check_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                         const LayerLimits& limits, Budget& budget);

}  // namespace muster::image
