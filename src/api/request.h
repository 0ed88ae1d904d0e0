#pragma once

#include <nlohmann/json.hpp>  // Request holds one by value.
#include <string>

#include "aws/refusal.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::api {

/// One request of an AWS API, whatever protocol it came in.
struct Request {
  std::string service;     ///< As in the credential scope: "sagemaker", "logs", "monitoring", ...
  std::string operation;   ///< "CreateTrainingJob"
  Json input;              ///< An object; times in epoch seconds, whatever the protocol.
  std::string access_key;  ///< The caller's; checked already.
  /// Header amz-sdk-invocation-id: the same on every attempt of one request; empty where not sent.
  std::string invocation = {};
  /// CreateTrainingJob, up to where the job would be stored. Sent as CheckTrainingJob.
  bool only_checks = false;
  std::string host = {};  ///< Header Host: what the caller calls this server, as it came.
};

using Answer = Result<Json, aws::Refusal>;

}  // namespace muster::api
