#include "job/name.h"

#include <algorithm>

#include "base/letters.h"

namespace muster::job {

bool is_job_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '-' || is_letter_or_digit(c); });
}

}  // namespace muster::job
