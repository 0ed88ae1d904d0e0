#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;

  bool operator==(const Owner&) const = default;
};

/// What clean_tree() took away, for people.
struct LeftOut {
  std::vector<std::string> lines;  ///< "model/pipe: neither a file nor a folder nor a link".
  std::uint64_t more = 0;          ///< Beyond those that `lines` names.
};

/// Makes files that an untrusted program left in the folder `path` harmless, and gives them to
/// `owner`. Only this user may be able to write to the parent of `path`:
/// - setuid, setgid and sticky bits, capabilities, access lists and all extended attributes except
///   "user.*" are removed;
/// - links stay links, and are never followed;
/// - devices, pipes and sockets are removed, and so are entries deeper than 128 folders or with a
///   path (below `path`) of more than 3072 bytes. Every remaining path can be opened.
/// No process that can write there may run meanwhile. Entries that are already harmless are not
/// changed. Blocks; uses one descriptor per level. Error: `denied`, `system` with the path; also
/// for a mount point.
Result<LeftOut> clean_tree(const std::string& path, Owner owner);

}  // namespace muster
