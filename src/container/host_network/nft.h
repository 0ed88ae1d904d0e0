#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// Searches `env`'s PATH and the system's folders for `nft`. Error: `not_found`.
Result<std::string> find_nft(const Env& env);

/// Runs nft with the rules in `text`, which are applied completely or not at all, in the calling
/// thread's network namespace. Blocks, usually for about 30 ms. Errors: as find_nft(), `system`,
/// `timeout`.
Result<void> run_nft(const std::string& text, const Env& env);

}  // namespace muster::container
