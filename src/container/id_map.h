#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster::container {

/// Maps `count` IDs, starting at `inside`, to the IDs starting at `outside`.
struct IdExtent {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::int64_t count = 0;

  bool operator==(const IdExtent&) const = default;
};

/// The ids of hosts whose root is the machine's id `first`.
std::vector<IdExtent> ids_from(std::uint32_t first);
/// The ids of hosts that have all `count` ids of their steward's user namespace, in which an
/// ordinary user is root (base/process/rootless.h). That namespace maps its first id separately
/// from the others, and no extent may span both.
std::vector<IdExtent> ids_of_rootless(std::int64_t count);

/// A host's IDs on the machine. The code that created this owns `user_namespace`; -1: the host's
/// IDs are the machine's own, and its root is the machine's root.
struct IdMap {
  int user_namespace = -1;
  std::uint32_t first = 0;  ///< The machine's number of id 0 inside.
  /// The steward is root only in an ordinary user's namespace: no ids are translated, and some
  /// kinds of mounts are not allowed.
  bool rootless = false;

  explicit operator bool() const { return user_namespace >= 0; }
};

/// Makes the host's root the owner of the file, link or folder at `path`. Error: `system`.
Result<void> give(const std::string& path, const IdMap& ids);
/// Makes the host's user `uid` the owner of what is open as `fd`, such as a pipe.
Result<void> give(const Fd& fd, const IdMap& ids, std::uint32_t uid = 0);

/// The namespaces that own a host's other namespaces.
struct HostNamespaces {
  Fd user;                    ///< Empty: the machine's.
  std::vector<IdExtent> ids;  ///< The IDs that `user` maps.
  Fd network;                 ///< Contains only a loopback interface that is down.
};

/// A user namespace with these ids, and a network namespace that it owns; without ids a network
/// namespace of the machine's own users. Forks, so the calling process must have only one thread.
/// Errors: `denied` without root; `system` where the kernel has no user namespaces.
Result<HostNamespaces> open_namespaces(const std::vector<IdExtent>& ids);

/// A user namespace for a mount that shows the files of one owner, `user` and `group`, as owned by
/// the machine's id `first`. Forks. Errors: as open_namespaces().
Result<Fd> open_owner_map(std::uint32_t user, std::uint32_t group, std::uint32_t first);

}  // namespace muster::container
