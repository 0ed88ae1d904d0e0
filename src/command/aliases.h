#pragma once

#include <string>

#include "base/command.h"

namespace muster::command {

/// The command that `word` means: "jobs" for the `ps` and `list` of other programs; there are also
/// aliases `status`, `cancel` and `rm`. Any other word is returned unchanged. `args`: the words
/// after it: `status JOB` is describe, without a job it is jobs. Aliases have no page: they are not
/// in help, completion or man pages. Pure.
std::string meant_command(const std::string& word, const Args& args);

}  // namespace muster::command
