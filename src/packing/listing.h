#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::packing {

/// What stands in a folder, and how folders of several hosts become one.

struct TreeEntry {
  enum class Kind { folder, file, link };

  std::string path;  ///< Below the root, without "./" and without a '/' at the end.
  Kind kind = Kind::file;
  unsigned mode = 0644;     ///< Permission bits, without setuid and the like.
  std::int64_t time = 0;    ///< Seconds since 1970 of the last change.
  std::uint64_t bytes = 0;  ///< A file's size.
  std::string target{};     ///< What a link names.
  std::size_t root = 0;     ///< The root that it is from, by number.

  bool operator==(const TreeEntry&) const = default;
};

/// All below `root` but sockets, pipes and devices, folders before what is in them, by name; links
/// are not followed. Empty if there is no such folder. Blocks. Error: `denied`, `system` with the
/// path.
Result<std::vector<TreeEntry>> walk_tree(const std::string& root, std::size_t number = 0);

/// Lays the trees over each other: of two entries with one name the one of the later tree stays,
/// folders are joined, a folder that becomes a file goes with all that is in it. Sorted.
/// Pure. Source: docs/decisions/0016-transfer.md, "N hosts, one object".
std::vector<TreeEntry> merge_trees(const std::vector<std::vector<TreeEntry>>& trees);

}  // namespace muster::packing
