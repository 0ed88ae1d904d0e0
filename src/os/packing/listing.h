#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::packing {

/// Lists folders, and merges folders of several hosts.

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

/// Hands on all below the folders `roots`, laid over each other: of several entries with one name
/// the one of the last root stays, folders are joined, a folder that is a file in a later root goes
/// with all that is in it. A folder comes before what is in it, and that comes next; the content of
/// a folder is sorted unless its names have more than some MiB. Sockets, pipes and devices are
/// passed over, as are roots that are no folders; links are not followed. Memory grows with neither
/// the number of entries nor their names. Blocks. Error: `denied`, `system` with the path; what
/// `take` gives. Source: docs/decisions/0016-transfer.md, "N hosts, one object".
Result<void> walk_trees(const std::vector<std::string>& roots,
                        const std::function<Result<void>(const TreeEntry& entry)>& take);

/// What walk_trees() finds in one folder, as a list.
Result<std::vector<TreeEntry>> walk_tree(const std::string& root);

}  // namespace muster::packing
