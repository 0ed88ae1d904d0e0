#include "platform/job_name.h"

#include <algorithm>

#include "base/dates.h"
#include "base/letters.h"
#include "base/text.h"
#include "job/name.h"

namespace muster::platform {
namespace {

/// Limit for names that we make: leaves room for the paths that they become part of.
constexpr std::size_t made_length_max = 52;

/// Letters and digits; runs of anything else become one '-'.
std::string plain(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_letter_or_digit(c))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

}  // namespace

std::string default_job_name(std::string_view script, UnixMillis now, std::string_view random) {
  std::string_view stem = script.substr(script.rfind('/') + 1);
  const std::size_t dot = stem.rfind('.');
  if (dot != std::string_view::npos && dot > 0) stem = stem.substr(0, dot);
  std::string time = utc_text(now, '-');
  std::replace(time.begin(), time.end(), ':', '-');
  const std::string end = "-" + time + "-" + std::string(random);
  std::string name = plain(stem);
  if (name.empty()) name = "job";
  name.resize(std::min(name.size(), made_length_max - end.size()));
  while (name.back() == '-') name.pop_back();
  return name + end;
}

Result<void> check_job_name(std::string_view name) {
  if (job::is_job_name(name)) return {};
  return fail(Errc::invalid_input, "\"" + to_utf8(name) +
                                       "\" is not a valid job name: expected 1 to 63 letters, "
                                       "digits and hyphens, with no hyphen at either end");
}

}  // namespace muster::platform
