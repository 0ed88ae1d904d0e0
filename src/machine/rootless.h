#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::machine {

/// Jobs of an ordinary user (docs/decisions/0046-rootless.md).

/// What he has.
struct Rootless {
  std::int64_t ids = 1;      ///< User and group ids of his namespace, from 0 on.
  std::string why_one_id{};  ///< Empty: there are more.
  std::string why_no_outside{};
};

/// Makes the calling process, which has one thread, root of a user and mount namespace of its own,
/// with a /run/muster of its own; it stays the same process. `env` becomes that of such a process:
/// it names the state folder, and no sudo. None where it is root anyway, which changes nothing.
/// Blocks for as long as newuidmap takes. Error: what the machine refuses.
Result<std::optional<Rootless>> enter_rootless(Env& env);

/// What jobs cannot have here, each a phrase for a list. Pure.
std::vector<std::string> lacks(const Rootless& rootless);

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

}  // namespace muster::machine
