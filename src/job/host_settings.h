#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

// Pure: what a host's `train` or operators are told by MUSTER_* variables, where a program of the
// user's is started first: as a file, so that the user's environment has none of them.

namespace muster::job {

/// Where a host of the platform with an entry point of its own has that file, mode 0600.
inline constexpr const char* host_settings_path = "/run/muster/settings";

/// Takes the MUSTER_* variables out of `env`; the file's text: each NAME=VALUE ends with a NUL.
std::string take_host_settings(Env& env);

/// `env` over what the file says. Error: `invalid_input` for what take_host_settings() would not
/// have written.
Result<Env> with_host_settings(Env env, const std::string& text);

}  // namespace muster::job
