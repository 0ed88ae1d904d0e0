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

/// Makes harmless what a stranger's program left in the folder `path`, whose own folder nobody but
/// us can write to, and gives it to `owner`:
/// - setuid, setgid and sticky bits, capabilities, access lists and every other extended attribute
///   but "user.*" go;
/// - links stay links, and are never followed;
/// - devices, pipes and sockets go, and what lies deeper than 128 folders or has a path (below
///   `path`) of more than 3072 bytes: a path to all that stays can be opened.
/// Nothing may run meanwhile that can write there. Where nothing needs to change nothing does.
/// Blocks; takes one descriptor a level. Error: `denied`, `system` with the path; also where
/// something is mounted.
Result<LeftOut> clean_tree(const std::string& path, Owner owner);

}  // namespace muster
