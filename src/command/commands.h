#pragma once

#include "base/command.h"

namespace muster::command {

/// `sm explain`, `sm completion`, `sm man`, `sm help` and `sm version`: the page of messages and
/// the table of commands, told. They return the exit code.
int explain_main(const Args& args, const Env& env);
int completion_main(const Args& args, const Env& env);
int man_main(const Args& args, const Env& env);
int help_main(const Args& args, const Env& env);
int version_main(const Args& args, const Env& env);

/// What `sm` does with a first word that is no command, or none at all: help or a refusal.
int no_command_main(const Args& args);

}  // namespace muster::command
