#pragma once

#include <string>

#include "base/command.h"
#include "platform/interpreter.h"
#include "supervise/programs.h"

namespace muster::machine {

/// Asks `python` (a name for the PATH of `env`, or an absolute path) who it is, by running it once:
/// in / and with -I, so that nothing of the caller's folder or of PYTHONPATH is imported outside of
/// a host. Errors: `not_found`, `denied`; `invalid_input` when what was found is no Python 3.
loop::Task<Result<platform::Interpreter>> find_interpreter(supervise::Programs& programs,
                                                           std::string python, Env env);

}  // namespace muster::machine
