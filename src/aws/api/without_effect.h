#pragma once

#include <string>

#include "base/json.h"

namespace muster::api {

/// The members of CreateTrainingJob's `input` that are accepted and ignored here, each with what
/// applies instead, in one line: "accepted without effect: RetryStrategy (a job runs once)". Empty
/// if there are none. Members that the SDKs always send (Debugger, profiler) are not listed. Pure.
std::string without_effect(const Json& input);

}  // namespace muster::api
