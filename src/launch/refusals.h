#pragma once

#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/python_json.h"

namespace muster::launch {

// What `train` refuses before it starts the program, since the kernel or the shell would, in words
// that say nothing. An image with an entry point of its own, and the server's API, take what
// SageMaker takes. Pure; errors are `invalid_input`, one line that says what to do.

/// Each hyperparameter becomes a variable, whose name holds no '='.
Result<void> check_names(const job::PyValue& hyperparameters);

/// `head`: the first bytes of the shell script `name`. A shell takes the CR of CR LF for a part of
/// the line's last word.
Result<void> check_line_ends(const std::string& name, std::string_view head);

/// The kernel takes 131,071 bytes of one variable, NAME=VALUE, and of one argument. Source:
/// execve(2), MAX_ARG_STRLEN.
Result<void> check_lengths(const Command& command);

}  // namespace muster::launch
