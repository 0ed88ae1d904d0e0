#include "job/name.h"

#include <algorithm>

namespace muster::job {

bool is_job_name(std::string_view name) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return c == '-' || is_letter_or_digit(c); });
}

}  // namespace muster::job
