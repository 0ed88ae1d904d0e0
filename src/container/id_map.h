#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster::container {

/// Ids from `inside` on that are those from `outside` on, `count` of them.
struct IdExtent {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::int64_t count = 0;

  bool operator==(const IdExtent&) const = default;
};

/// Hosts whose root is `first` of the machine.
std::vector<IdExtent> ids_from(std::uint32_t first);
/// Hosts that have all `count` ids of the user namespace in which their steward is root, an
/// ordinary user's (base/process/rootless.h). The kernel made the first of them apart from the
/// others, and no extent may lie over both.
std::vector<IdExtent> ids_of_rootless(std::int64_t count);

/// A host's ids on the machine. The code that created this owns `user_namespace`; -1: a host's ids
/// are the machine's own, and root is root.
struct IdMap {
  int user_namespace = -1;
  std::uint32_t first = 0;  ///< The machine's number of id 0 inside.
  /// The steward is root of an ordinary user's namespace alone: nothing is translated, and some
  /// kinds of mounts are not for it.
  bool rootless = false;

  explicit operator bool() const { return user_namespace >= 0; }
};

/// Makes the file, link or folder at `path` the host's root's. Error: `system`.
Result<void> give(const std::string& path, const IdMap& ids);
/// What is open as `fd`, a pipe, say, to `uid` of the host.
Result<void> give(const Fd& fd, const IdMap& ids, std::uint32_t uid = 0);

/// The namespaces that a host's others belong to.
struct HostNamespaces {
  Fd user;                    ///< Empty: the machine's.
  std::vector<IdExtent> ids;  ///< What `user` has.
  Fd network;                 ///< With nothing in it but a loopback interface that is down.
};

/// A user namespace with these ids, and a network namespace that it owns; without ids a network
/// namespace of the machine's own users. Forks; the calling process has one thread.
/// Errors: `denied` without root; `system` where the kernel has no user namespaces.
Result<HostNamespaces> open_namespaces(const std::vector<IdExtent>& ids);

/// A user namespace by which a mount shows one owner alone of its files, `user` and `group`, as the
/// machine's number `first`. Forks. Errors: as open_namespaces().
Result<Fd> open_owner_map(std::uint32_t user, std::uint32_t group, std::uint32_t first);

}  // namespace muster::container
