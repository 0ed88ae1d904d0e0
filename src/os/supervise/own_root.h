#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"

namespace muster::supervise {

/// An ordinary user's process that is root of its own namespaces (docs/decisions/0046-rootless.md).
struct OwnRoot {
  std::int64_t ids = 1;      ///< User and group ids of its user namespace, from 0 on.
  std::string why_one_id{};  ///< Empty: there are more.
};

/// Makes the calling process, which has one thread and is not root, root of a new user and mount
/// namespace, with its own /run/muster. It stays the same process, but the kernel clears its
/// parent-death signal. `env` becomes the environment of such a process (rootless_variable). Blocks
/// for as long as newuidmap takes. Error: `denied`, with why the machine refuses; `system`.
Result<OwnRoot> become_own_root(Env& env);

/// Subordinate ids of a user.
struct IdRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const IdRange&) const = default;
};

/// The largest range of /etc/subuid or /etc/subgid for a user, by name (may be empty) or number; at
/// most 65,535, so that hosts have 65,536 with root. Pure. Source: subuid(5).
std::optional<IdRange> subordinate_ids(std::string_view text, const std::string& name,
                                       std::int64_t number);

}  // namespace muster::supervise
