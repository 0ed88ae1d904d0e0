#pragma once

#include <functional>
#include <string>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "server/cloudwatch/logs.h"
#include "server/cloudwatch/metrics.h"
#include "server/jobs/jobs.h"
#include "server/operations/describe.h"
#include "server/operations/stack_operations.h"
#include "server/store/store.h"

namespace muster::server {

/// Handles every validated API request: training jobs, tags and search here; logs, monitoring,
/// stacks, identities and Search (job_search.h) in their own classes. The model's constraints have
/// been checked (aws/api/validate.h); this checks the state.
///
/// Times are numbers: epoch seconds, in logs epoch milliseconds. Belongs to the store's thread.
class Operations {
 public:
  struct Options {
    api::Realm realm;
    std::function<UnixMillis()> now;  ///< Wall clock.
  };
  Operations(store::Store& store, jobs::Jobs& jobs, cloudwatch::Logs& logs,
             cloudwatch::Metrics& metrics, Stacks& stacks, Options options);

  /// Unknown operations: `UnknownOperationException` with the name. Errors of the store:
  /// `InternalFailure`, status 500.
  api::Answer operate(const api::Request& request);
  /// Removes some rows of the job that a DeleteTrainingJob deletes, so that the call itself has few
  /// left; false: it may be made.
  bool remove_some(const api::Request& request);

 private:
  using Handler = api::Answer (Operations::*)(const api::Request& request);
  api::Answer create(const api::Request& request);
  api::Answer describe(const api::Request& request);
  api::Answer list(const api::Request& request);
  api::Answer stop(const api::Request& request);
  api::Answer update(const api::Request& request);
  api::Answer remove(const api::Request& request);
  api::Answer add_tags(const api::Request& request);
  api::Answer list_tags(const api::Request& request);
  api::Answer delete_tags(const api::Request& request);
  /// The ARN of the job whose tags the request is about.
  Result<std::string, aws::Refusal> tagged(const api::Request& request);

  store::Store& store_;
  jobs::Jobs& jobs_;
  cloudwatch::Logs& logs_;
  cloudwatch::Metrics& metrics_;
  Stacks& stacks_;
  Options options_;
};

}  // namespace muster::server
