#pragma once

#include <functional>
#include <string>
#include <variant>

#include "server/call.h"
#include "server/describe.h"
#include "server/jobs.h"
#include "server/logs.h"
#include "server/metrics.h"
#include "server/realm.h"
#include "server/store.h"

namespace muster::server {

/// Every call of the API that has passed validation, from its input to its answer: sagemaker's
/// training jobs, tags and search here, logs, monitoring and identities next door. What the model
/// says is checked already (server/validate.h); here it is what the state says.
///
/// Times are numbers: epoch seconds, in logs epoch milliseconds. Belongs to the store's thread.
class Operations {
 public:
  struct Options {
    Realm realm;
    std::function<UnixMillis()> now;  ///< Wall clock.
  };
  Operations(Store& store, Jobs& jobs, Logs& logs, Metrics& metrics, Options options);

  /// Unknown operations: `UnknownOperationException` with the name. What the store could not do:
  /// `InternalFailure`, status 500.
  Answer operate(const Call& call);

 private:
  using Handler = Answer (Operations::*)(const Call& call);
  Answer create(const Call& call);
  Answer describe(const Call& call);
  Answer list(const Call& call);
  Answer stop(const Call& call);
  Answer update(const Call& call);
  Answer remove(const Call& call);
  Answer add_tags(const Call& call);
  Answer list_tags(const Call& call);
  Answer delete_tags(const Call& call);
  Answer search(const Call& call);
  /// The ARN of the job whose tags the call is about.
  std::variant<std::string, Refusal> tagged(const Call& call);

  Store& store_;
  Jobs& jobs_;
  Logs& logs_;
  Metrics& metrics_;
  Options options_;
};

}  // namespace muster::server
