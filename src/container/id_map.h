#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace muster::container {

/// A host's ids on the machine. `user_namespace` belongs to whoever made this; -1: a host's ids are
/// the machine's own, and root is root.
struct IdMap {
  int user_namespace = -1;
  std::uint32_t first = 0;  ///< The machine's number of id 0 inside.

  explicit operator bool() const { return user_namespace >= 0; }
};

/// Makes the file, link or folder at `path` the host's root's. Error: `system`.
Result<void> give(const std::string& path, const IdMap& ids);
/// What is open as `fd`, a pipe, say, to `uid` of the host.
Result<void> give(const Fd& fd, const IdMap& ids, std::uint32_t uid = 0);

/// The namespaces that a host's others belong to.
struct HostNamespaces {
  Fd user;     ///< Empty: the machine's.
  Fd network;  ///< With nothing in it but a loopback interface that is down.
};

/// A user namespace in which `first` is root, and a network namespace that it owns; without `first`
/// a network namespace of the machine's own users. Forks; the calling process has one thread.
/// Errors: `denied` without root; `system` where the kernel has no user namespaces.
Result<HostNamespaces> open_namespaces(std::optional<std::uint32_t> first);

/// A user namespace by which a mount shows one owner alone of its files, `user` and `group`, as the
/// machine's number `first`. Forks. Errors: as open_namespaces().
Result<Fd> open_owner_map(std::uint32_t user, std::uint32_t group, std::uint32_t first);

}  // namespace muster::container
