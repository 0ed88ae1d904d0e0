#pragma once

#include <string_view>

namespace muster::job {

/// True for 1 to 63 letters, digits and inner '-': the name of a job, or of a host. Pure.
/// Source: CreateTrainingJob's TrainingJobName, [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}.
bool is_job_name(std::string_view name);

}  // namespace muster::job
