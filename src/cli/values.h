#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "job/limits.h"

namespace muster::cli {

/// Values of flags. Pure: texts in, `invalid_input` that names the flag out.

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline constexpr int timeout_seconds_max = static_cast<int>(job::training_time_max.count());

/// "--hosts: expected a number, got "x"".
Error wrong_value(const std::string& flag, const std::string& expected, const std::string& got);
/// From 1 to `most`; `otherwise` for an empty text.
Result<int> whole_number(const char* flag, const std::string& text, int most, int otherwise);
/// "NAME=VALUE" texts; each name once. `form` says how they look.
Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts);
/// Refuses hyperparameters that `command` itself sends.
Result<void> check_reserved(const Pairs& hyperparameters, const std::string& command);

}  // namespace muster::cli
