#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop/loop.h"

namespace muster::calls {

/// A regular file as it was at some time: another stamp, other bytes.
struct Stamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const Stamp&) const = default;
};
/// None if `path`, with links followed, is not a regular file.
std::optional<Stamp> stamp_of(const std::string& path);

/// Copies a file as long as it is now to a new one, sharing its blocks where the file system can;
/// else in pieces, between which the loop runs. Gives the stamp from before. Errors: `not_found`,
/// `invalid_input` (no regular file), `system`; then no copy is left.
loop::Task<Result<Stamp>> snapshot(loop::Loop& loop, std::string from, std::string to);

struct FolderEntry {
  std::string name;
  bool is_folder = false;  ///< The entry itself is a folder; a link to a folder does not count.
};
/// Sorted; empty if it cannot be read.
std::vector<FolderEntry> entries_of(const std::string& folder);

}  // namespace muster::calls
