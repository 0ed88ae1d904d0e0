#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files/given_path.h"
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

/// A folder that is listed and packed. It is held: its entries are found from its descriptor, not
/// by its path, which others may change meanwhile.
struct Root {
  GivenPath at;        ///< Without a descriptor: there is no such folder, so it has no entries.
  std::string name{};  ///< In an archive, paths start with it; then `at` may also be a file.
};
/// One of muster's own folders, or `below` in it. Links of all users are followed on the way to
/// `folder`, and none from there on. Error: `denied`, `system`.
Result<Root> own_root(const std::string& folder, const std::string& below = {});

/// Hands on all below the folders `roots`, laid over each other: of several entries with one name
/// the one of the last root stays, folders are joined, a folder that is a file in a later root goes
/// with all that is in it. A folder comes before what is in it, and that comes next; the content of
/// a folder is sorted unless its names have more than some MiB. Sockets, pipes and devices are
/// passed over; links are not followed. Memory grows with neither the number of entries nor their
/// names. Blocks. Error: `denied`, `system` with the path; what `take` gives. Source:
/// docs/decisions/0016-transfer.md, "N hosts, one object".
Result<void> walk_trees(std::span<const Root> roots,
                        const std::function<Result<void>(const TreeEntry& entry)>& take);

/// What walk_trees() finds in one folder, as a list.
Result<std::vector<TreeEntry>> walk_tree(const Root& root);

}  // namespace muster::packing
