#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "packing/listing.h"

namespace muster::packing {

/// A tar archive as it will be, byte for byte, before any of it is made: its parts can be made in
/// any order, by many threads.
///
/// Pure but for read(). Source: POSIX.1-2017, pax: ustar headers, pax records for what does not
/// fit (long names, sizes from 8 GiB).
class TarPlan {
 public:
  /// `entries` as merge_trees() gives them; `roots[entry.root]` is where they stand.
  TarPlan(std::vector<TreeEntry> entries, std::vector<std::string> roots);

  std::uint64_t bytes() const { return bytes_; }
  const std::vector<TreeEntry>& entries() const { return entries_; }
  /// Puts the archive from `offset` on to `into`; how many bytes: fewer at its end only. Blocks.
  /// Error: `system`, `invalid_input` with the path: a file that is shorter than it was.
  Result<std::size_t> read(std::uint64_t offset, std::span<char> into) const;

 private:
  Result<void> read_entry(std::size_t index, std::uint64_t from, std::uint64_t to,
                          char* into) const;

  std::vector<TreeEntry> entries_;
  std::vector<std::string> roots_;
  std::vector<std::uint64_t> starts_;  ///< Where each entry's header begins.
  std::uint64_t bytes_ = 0;
};

/// The header of one entry, pax records before it included: a multiple of 512 bytes. Pure.
std::string tar_header(const TreeEntry& entry);

}  // namespace muster::packing
