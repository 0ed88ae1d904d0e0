#pragma once

#include <functional>
#include <nlohmann/json.hpp>  // Request holds one by value.
#include <string>

#include "aws/refusal.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::api {

/// Operations that AWS does not have. Each has its own name, and is read like one of AWS's. They
/// are separate operations, not flags, so that a server that does not know one does nothing else
/// instead.
enum class Own {
  none,
  check,     ///< CheckTrainingJob: CreateTrainingJob, up to where the job would be stored. For a
             ///< client that has data to upload before, and wants to know first.
  web_link,  ///< CreateWebLink, with ListTrainingJobs' input: a path that opens the web page once.
  stacks,  ///< DescribeTrainingJobStacks: the stacks of the processes of DescribeTrainingJob's job.
  native_stacks,  ///< DescribeTrainingJobNativeStacks: and calls that are not Python's.
  timeline,       ///< DescribeTrainingJobTimeline: of DescribeTrainingJob's job, what its hosts did
                  ///< when.
  usage,  ///< DescribeTrainingJobUsage: what the hosts of DescribeTrainingJob's job use now.
};

/// One request of an AWS API, whatever protocol it came in.
struct Request {
  std::string service;     ///< As in the credential scope: "sagemaker", "logs", "monitoring", ...
  std::string operation;   ///< "CreateTrainingJob"
  Json input;              ///< An object; times in epoch seconds, whatever the protocol.
  std::string access_key;  ///< The caller's, of a temporary one its maker; checked already.
  /// Header amz-sdk-invocation-id: the same on every attempt of one request; empty where not sent.
  std::string invocation = {};
  Own own = Own::none;
  std::string signer = {};   ///< The key that signed; empty: `access_key`.
  std::string session = {};  ///< "ROLE/NAME", if AssumeRole made the signer.
  std::string host = {};     ///< Header Host: what the caller calls this server, as it came.
  /// True once the client has hung up; on any thread. Empty: nobody knows.
  std::function<bool()> gone = {};
};

using Answer = Result<Json, aws::Refusal>;

}  // namespace muster::api
