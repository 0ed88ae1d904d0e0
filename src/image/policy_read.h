#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "image/policy.h"

namespace muster::image {

constexpr std::size_t policy_bytes_max = 1u << 20;

/// Every key it names comes by `read_key`, by path. Errors: `invalid_input`, saying where and what
/// was expected (a kind of requirement or a member that is not known, a member twice); read_key's.
using ReadKey = std::function<Result<std::string>(const std::string& path)>;
Result<Policy> policy_from(std::string_view text, const ReadKey& read_key);
/// policy_from() of a file; every error names it.
Result<Policy> read_policy(const std::string& file);

}  // namespace muster::image
