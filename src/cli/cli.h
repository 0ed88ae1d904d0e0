#pragma once

#include "base/command.h"

namespace muster::cli {

/// `sm fit`, `sm clean`, `sm doctor`, `sm completion`. They return the exit code (exit_codes.h).
int fit_main(const Args& args, const Env& env);
int clean_main(const Args& args, const Env& env);
int doctor_main(const Args& args, const Env& env);
int completion_main(const Args& args, const Env& env);

}  // namespace muster::cli
