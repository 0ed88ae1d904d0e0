#pragma once

#include <cstddef>
#include <string>

#include "platform/job_run.h"

namespace muster::platform {

/// FailureReason's limit in characters. Source: the API's model.
inline constexpr std::size_t failure_reason_characters_max = 1024;

/// Why a job failed, as DescribeTrainingJob shows it: "AlgorithmError: …" for a failure of the
/// job's own program, else "ClientError: …" or "InternalServerError: …". Empty for a job that did
/// not fail. UTF-8, at most failure_reason_characters_max. Pure.
///
/// Source: docs/protocols/outcome.md.
std::string failure_reason(const JobReport& report);

}  // namespace muster::platform
