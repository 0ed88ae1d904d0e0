#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// Where `nft` is: in `env`'s PATH or where administrators have programs. Error: `not_found`.
Result<std::string> find_nft(const Env& env);

/// Has nft carry out `text`, whole or not at all, in the network namespace that the calling thread
/// is in. Blocks, some 30 ms as a rule. Errors: as find_nft(), `system`, `timeout`.
Result<void> run_nft(const std::string& text, const Env& env);

}  // namespace muster::container
