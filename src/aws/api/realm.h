#pragma once

#include <string>

namespace muster::api {

/// The parts that all ARNs of this server share.
struct Realm {
  std::string region = "us-east-1";
  std::string account = "000000000000";  ///< 12 digits.
};

/// arn:aws:sagemaker:<region>:<account>:training-job/<name>
std::string job_arn(const Realm& realm, const std::string& name);
/// The name in such an ARN, of any region; empty if it is not such an ARN.
std::string job_of_arn(const std::string& arn);

}  // namespace muster::api
