#pragma once

#include <string>

#include "base/json.h"

namespace muster::api {

/// The members of CreateTrainingJob's `input` that are taken and change nothing here, each with
/// what holds instead, in one line: "taken without effect: RetryStrategy (a job runs once)". Empty
/// if there is none. What the SDKs send unasked (Debugger, profiler) is not among them. Pure.
std::string without_effect(const Json& input);

}  // namespace muster::api
