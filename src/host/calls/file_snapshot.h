#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop/loop.h"

namespace muster::calls {

/// Identifies the content of a regular file at one time: if the stamp differs, the content may
/// differ.
struct Stamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const Stamp&) const = default;
};
/// None if `path`, with links followed, is not a regular file.
std::optional<Stamp> stamp_of(const std::string& path);

/// Copies a file, up to its current length, to a new one. Shares blocks if the file system can;
/// otherwise copies in pieces, between which the loop runs. Returns the stamp from before the copy.
/// Errors: `not_found`, `invalid_input` (not a regular file), `system`; then no copy is left.
loop::Task<Result<Stamp>> snapshot(loop::Loop& loop, std::string from, std::string to);

struct FolderEntry {
  std::string name;
  bool is_folder = false;  ///< The entry itself is a folder; a link to a folder does not count.
};
/// Sorted; empty if it cannot be read.
std::vector<FolderEntry> entries_of(const std::string& folder);

}  // namespace muster::calls
