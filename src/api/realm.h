#pragma once

#include <string>

namespace muster::api {

/// What stands in every ARN of this server.
struct Realm {
  std::string region = "us-east-1";
  std::string account = "000000000000";  ///< 12 digits.
};

/// arn:aws:sagemaker:<region>:<account>:training-job/<name>
std::string job_arn(const Realm& realm, const std::string& name);
/// The name in such an ARN, whatever its region; empty if it is none.
std::string job_of_arn(const std::string& arn);

}  // namespace muster::api
