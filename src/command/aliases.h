#pragma once

#include <string>

#include "base/command.h"

namespace muster::command {

/// The command that `word` means: "jobs" for the `ps` and `list` of other programs, likewise
/// `status`, `cancel` and `rm`; any other word is returned as it is. `args`: the words after it:
/// `status JOB` is describe, without a job it is jobs. Such a word has no page: it is in no help,
/// completion or man page. Pure.
std::string meant_command(const std::string& word, const Args& args);

}  // namespace muster::command
