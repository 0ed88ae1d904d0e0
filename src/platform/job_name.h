#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::platform {

/// "mpi-demo-2026-01-31-12-00-00-1a2b" for "dir/mpi_demo.py": stem, UTC time, `random` (4 hex
/// digits); at most 52 characters. Pure. Source: the SageMaker Python SDK's name_from_base().
std::string default_job_name(std::string_view script, UnixMillis now, std::string_view random);

/// Error: `invalid_input` if job::is_job_name() rejects it.
Result<void> check_job_name(std::string_view name);

}  // namespace muster::platform
