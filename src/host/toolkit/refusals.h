#pragma once

#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/training/python_json.h"

namespace muster::launch {

// What `train` rejects before it starts the program: the kernel or the shell would reject it later,
// with an unclear message. An image with its own entry point, and the server's API, accept what
// SageMaker accepts. Pure; errors are `invalid_input`, one line that says what to do.

/// Each hyperparameter becomes a variable, whose name holds no '='.
Result<void> check_names(const job::PyValue& hyperparameters);

/// `head`: the first bytes of the shell script `name`. A shell takes the CR of CR LF for a part of
/// the line's last word.
Result<void> check_line_ends(const std::string& name, std::string_view head);

/// The kernel takes 131,071 bytes of one variable, NAME=VALUE, and of one argument. Source:
/// execve(2), MAX_ARG_STRLEN.
Result<void> check_lengths(const Command& command);

}  // namespace muster::launch
