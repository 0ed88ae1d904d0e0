#pragma once

#include <string>
#include <variant>

#include "base/json.h"

namespace muster::server {

/// One call of an AWS API, whatever protocol it came in.
struct Call {
  std::string service;     ///< As in the credential scope: "sagemaker", "logs", "monitoring", ...
  std::string operation;   ///< "CreateTrainingJob"
  Json input;              ///< An object; times are what the protocol makes of them.
  std::string access_key;  ///< Whose call it is; checked already.
};

/// What an AWS service answers to a call that it refuses.
struct Refusal {
  std::string code;     ///< "ValidationException"
  std::string message;  ///< One line for a person.
  int status = 400;     ///< HTTP's.

  bool operator==(const Refusal&) const = default;
};

using Answer = std::variant<Json, Refusal>;

}  // namespace muster::server
