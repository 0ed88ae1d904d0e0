#pragma once

#include <string>

namespace muster::job {

/// The bucket that SageMaker's SDKs take where none is named. Pure.
std::string default_bucket(const std::string& region, const std::string& account);

/// The config file of SageMaker's SDKs, versions 2 and 3: default bucket, telemetry off. Without it
/// they ask AWS itself, whatever AWS_ENDPOINT_URL says. Pure.
std::string sagemaker_config(const std::string& bucket);

}  // namespace muster::job
