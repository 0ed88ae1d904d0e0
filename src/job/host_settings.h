#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

// Pure: MUSTER_* settings for a host's `train` or operators, for hosts where a user's program
// starts first. They are passed in a file, so that the user's environment does not contain them.

namespace muster::job {

/// The settings file in a host of the platform whose image has its own entry point; mode 0600.
inline constexpr const char* host_settings_path = "/run/muster/settings";

/// All of the job's own variables for a host that a program of the node puts in an image; mode
/// 0600, too. The job does not depend on that program's rules of which variables pass and how they
/// are quoted.
inline constexpr const char* host_variables_path = "/run/muster/variables";
/// Where hosts of an image, and light hosts, have `sm` and `train`: a folder of its own, because
/// such hosts may have other programs of these names.
inline constexpr const char* own_programs_path = "/run/muster/bin";

/// Each NAME=VALUE ends with a NUL.
std::string variables_text(const Env& env);
/// Error: `invalid_input` for what variables_text() would not have written.
Result<Env> variables_from(const std::string& text);
/// The image's environment `env`, overridden by the job's own variables, with the folder of
/// muster's programs last on PATH.
Env over_variables(Env env, const Env& own);

/// Takes the MUSTER_* variables out of `env` and returns them as the file's text: each NAME=VALUE
/// ends with a NUL.
std::string take_host_settings(Env& env);

/// The file's variables, overridden by `env`. Error: `invalid_input` for what take_host_settings()
/// would not have written.
Result<Env> with_host_settings(Env env, const std::string& text);

}  // namespace muster::job
