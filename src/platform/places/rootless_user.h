#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::places {

/// Jobs of an ordinary user (docs/decisions/0046-rootless.md).

/// What he has.
struct Rootless {
  std::int64_t ids = 1;      ///< User and group ids of his namespace, from 0 on.
  std::string why_one_id{};  ///< Empty: there are more.
  std::string why_no_outside{};
};

/// Makes the calling process, which has one thread, root of a new user and mount namespace, with
/// its own /run/muster; it stays the same process. `env` becomes the environment of such a process:
/// it names the state folder, and has no sudo variables. None if it is root already; then nothing
/// changes. Blocks for as long as newuidmap takes. Error: what the machine refuses.
Result<std::optional<Rootless>> enter_rootless(Env& env);

/// What jobs cannot have here, each a phrase for a list. Pure.
std::vector<std::string> lacks(const Rootless& rootless);

}  // namespace muster::places
