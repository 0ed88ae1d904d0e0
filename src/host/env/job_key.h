#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::env {

inline constexpr std::size_t job_key_bytes = 32;

struct JobKey {
  std::string bytes;    ///< job_key_bytes long.
  std::string warning;  ///< Empty, or the reason why this key gives weak protection.
};

/// The job's key: MUSTER_JOB_KEY_FILE, else MUSTER_JOB_KEY (both 64 hex digits), else, if
/// MUSTER_JOB_KEY_FROM_NAME is 1, derived from the job's ARN or name and, if the image has one,
/// /etc/muster/image-key. Error: `invalid_input` for a key that is not 64 hex digits, or a missing
/// key; the file's own errors.
Result<JobKey> job_key(const Env& env);

}  // namespace muster::env
