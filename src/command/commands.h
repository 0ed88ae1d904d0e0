#pragma once

#include "base/command.h"

namespace muster::command {

/// `sm explain`, `sm completion`, `sm man`, `sm help` and `sm version`: they print the page of
/// messages and the table of commands. They return the exit code.
int explain_main(const Args& args, const Env& env);
int completion_main(const Args& args, const Env& env);
int man_main(const Args& args, const Env& env);
int help_main(const Args& args, const Env& env);
int version_main(const Args& args, const Env& env);

/// Handles a first word of `sm` that is not a command, or no word at all: prints help or an error.
int no_command_main(const Args& args);

}  // namespace muster::command
