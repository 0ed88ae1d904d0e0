#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// Programs of the machine's administration: nft, mke2fs.

/// Looks on PATH and in the system's folders. Error: `not_found`.
Result<std::string> find_tool(const std::string& name, const Env& env);

/// Runs `argv` to its end with `input` to read. Blocks, at most for 20 s. Errors: `timeout`;
/// `system` with the first line that it complained in.
Result<void> run_tool(const Args& argv, const std::string& input);

}  // namespace muster::container
