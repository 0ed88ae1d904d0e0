#pragma once

#include <string>

#include "base/command.h"
#include "os/supervise/programs.h"
#include "platform/interpreter.h"

namespace muster::places {

/// Finds out the version and paths of `python` (a name on the PATH of `env`, or an absolute path)
/// by running it once: in / and with -I, so that it imports nothing from the caller's folder or
/// PYTHONPATH outside of a host. Errors: `not_found`, `denied`; `invalid_input` if it is not Python
/// 3.
loop::Task<Result<platform::Interpreter>> find_interpreter(supervise::Programs& programs,
                                                           std::string python, Env env);

}  // namespace muster::places
