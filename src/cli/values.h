#pragma once

#include <cstdint>
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
/// "512m", "2g", "1.5G", "64GiB", or bytes: the suffixes k, m, g and t stand for powers of 1024, as
/// Docker has them. `otherwise` for an empty text.
Result<std::int64_t> byte_count(const char* flag, const std::string& text, std::int64_t least,
                                std::int64_t otherwise);
/// A number with a fraction, given in thousandths: "1.5" is 1500. `otherwise` for an empty text.
Result<std::int64_t> thousandths(const char* flag, const std::string& text, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise);
/// "NAME=VALUE" texts; each name once. `form` says how they look.
Result<Pairs> pairs(const char* flag, const char* form, const std::vector<std::string>& texts);
/// Refuses hyperparameters that `command` itself sends.
Result<void> check_reserved(const Pairs& hyperparameters, const std::string& command);

}  // namespace muster::cli
