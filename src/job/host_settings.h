#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

// Pure: MUSTER_* settings for a host's `train` or operators if a user's program starts first. They
// are passed in a file, so that the user's environment does not contain them.

namespace muster::job {

/// The settings file in a host of the platform whose image has its own entry point; mode 0600.
inline constexpr const char* host_settings_path = "/run/muster/settings";

/// All of the job's own variables for a host that a program of the node puts in an image; mode
/// 0600, too. The job does not depend on that program's rules of which variables pass and how they
/// are quoted.
inline constexpr const char* host_variables_path = "/run/muster/variables";
/// Where hosts have `sm` and `train` that are images', or light: there may be programs of these
/// names.
inline constexpr const char* own_programs_path = "/run/muster/bin";

/// Each NAME=VALUE ends with a NUL.
std::string variables_text(const Env& env);
/// Error: `invalid_input` for what variables_text() would not have written.
Result<Env> variables_from(const std::string& text);
/// `env`, an image's, with the job's own variables over it, and the folder of muster's programs
/// last on PATH.
Env over_variables(Env env, const Env& own);

/// Takes the MUSTER_* variables out of `env`; the file's text: each NAME=VALUE ends with a NUL.
std::string take_host_settings(Env& env);

/// `env` over what the file says. Error: `invalid_input` for what take_host_settings() would not
/// have written.
Result<Env> with_host_settings(Env env, const std::string& text);

}  // namespace muster::job
