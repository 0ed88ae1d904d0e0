#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aws/api/realm.h"
#include "base/json.h"

namespace muster::cloudwatch {

/// The only group there is.
constexpr std::string_view log_group = "/aws/sagemaker/TrainingJobs";

/// arn:aws:logs:<region>:<account>:log-group:/aws/sagemaker/TrainingJobs
std::string group_arn(const api::Realm& realm);
/// The group that an input names, by name or by ARN; empty for none.
std::string group_of(const Json& input);
/// The stream that an input names.
std::string stream_of(const Json& input);

}  // namespace muster::cloudwatch
