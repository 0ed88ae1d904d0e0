#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aws/api/realm.h"
#include "base/json.h"

namespace muster::cloudwatch {

/// The only log group.
constexpr std::string_view log_group = "/aws/sagemaker/TrainingJobs";

/// arn:aws:logs:<region>:<account>:log-group:/aws/sagemaker/TrainingJobs
std::string group_arn(const api::Realm& realm);
/// The group in an input, given by name or by ARN; empty if there is none.
std::string group_of(const Json& input);
/// The stream that the input names.
std::string stream_of(const Json& input);

}  // namespace muster::cloudwatch
