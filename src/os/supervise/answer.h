#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/time.h"

namespace muster::env {

/// What a program writes to its stdout, at most 1 MiB; none if there is no such program, it fails,
/// or it takes longer than a minute. Blocks.
std::optional<std::string> answer_of(const Command& command);
/// What a program writes, also where it fails, within `limit`: stdout and stderr. Blocks.
std::optional<std::string> output_of(const Command& command, Duration limit);

/// Where Python imports from.
enum class Imports {
  of_program,  ///< As a program in the folder would: also from there, and from PYTHONPATH.
  isolated,    ///< The interpreter's own places alone (-I): for questions outside of a host.
};
/// What the Python interpreter finds of `modules` from `folder`, without importing one; none if it
/// cannot say. Blocks as answer_of().
std::optional<Args> importable(const Args& modules, const std::string& python, const Env& env,
                               const std::string& folder, Imports imports);

}  // namespace muster::env
