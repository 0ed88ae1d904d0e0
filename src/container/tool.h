#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::container {

/// Runs administration programs of the machine, such as nft and mke2fs.

/// Searches PATH and the system's folders. Error: `not_found`.
Result<std::string> find_tool(const std::string& name, const Env& env);

/// Runs `argv` to its end with `input` as its standard input. Blocks for 20 s at most. Errors:
/// `timeout`; `system` with the first line of its error output.
Result<void> run_tool(const Args& argv, const std::string& input);

}  // namespace muster::container
