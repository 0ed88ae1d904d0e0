#include "server/jobs/priority.h"

#include <algorithm>

#include "aws/api/inputs.h"
#include "server/queue/queue_order.h"

namespace muster::jobs {
namespace {

const std::string* value_in(const Tags& tags) {
  const auto found = std::find_if(tags.begin(), tags.end(),
                                  [](const auto& tag) { return tag.first == priority_tag; });
  return found == tags.end() ? nullptr : &found->second;
}

std::optional<int> priority_from(const std::string& text) {
  static_assert(priority_max == 9, "one digit");
  if (text.size() != 1 || text[0] < '0' || text[0] > '9') return std::nullopt;
  return text[0] - '0';
}

}  // namespace

Result<std::optional<int>, aws::Refusal> priority_asked_for(
    const Tags& tags, const std::string& key, const JobConfig& config,
    const std::vector<std::string>& makers) {
  const std::string* const value = value_in(tags);
  if (value == nullptr) return std::optional<int>();
  const std::optional<int> priority = priority_from(*value);
  if (!priority)
    return api::invalid("tag muster:priority: expected a whole number from 0 to 9, got \"" +
                        *value + "\"");
  const int most = config.priority_max_of(key, makers);
  if (*priority > most)
    return api::invalid("tag muster:priority: the maximum for this access key is " +
                        std::to_string(most) + ", got " + *value +
                        "; see jobs.priority_max in the server's config");
  return priority;
}

int priority_stored(const Tags& tags) {
  const std::string* const value = value_in(tags);
  return value == nullptr ? 0 : priority_from(*value).value_or(0);
}

}  // namespace muster::jobs
