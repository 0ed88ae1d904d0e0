#include "server/jobs/priority.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs {
namespace {

/// "5", "none", or why it is refused.
std::string asked(const JobConfig& config, const std::string& key, const Tags& tags) {
  const Result<std::optional<int>, aws::Refusal> got = priority_asked_for(tags, key, config);
  if (!got) return got.error().code + ": " + got.error().message;
  return *got ? std::to_string(**got) : "none";
}

TEST_CASE("priority: the tag says it, in one digit") {
  const JobConfig config;
  CHECK(asked(config, "AK", {}) == "none");
  CHECK(asked(config, "AK", {{"team", "7"}}) == "none");
  CHECK(asked(config, "AK", {{"muster:priority", "0"}}) == "0");
  CHECK(asked(config, "AK", {{"a", "b"}, {"muster:priority", "9"}}) == "9");
  for (const char* value : {"", "10", "-1", "+1", "1.0", " 1", "high", "٣"})
    CHECK(asked(config, "AK", {{"muster:priority", value}}) ==
          "ValidationException: tag muster:priority: expected a whole number from 0 to 9, got \"" +
              std::string(value) + "\"");
}

TEST_CASE("priority: a key gives no more than the config lets it") {
  const JobConfig config =
      *job_config_from(Json::parse(R"({"priority_max": {"*": 5, "NIGHT*": 0, "NIGHTOWL": 7}})"));
  CHECK(asked(config, "AK", {{"muster:priority", "5"}}) == "5");
  CHECK(
      asked(config, "AK", {{"muster:priority", "6"}}) ==
      "ValidationException: tag muster:priority: the maximum for this access key is 5, got 6; see "
      "jobs.priority_max in the server's config");
  CHECK(asked(config, "NIGHT1", {{"muster:priority", "0"}}) == "0");
  CHECK(asked(config, "NIGHT1", {{"muster:priority", "1"}}).starts_with("ValidationException"));
  CHECK(asked(config, "NIGHTOWL", {{"muster:priority", "7"}}) == "7");
}

TEST_CASE("priority: a key gives no more than the keys that made it, unless the config names it") {
  const JobConfig config =
      *job_config_from(Json::parse(R"({"priority_max": {"LOW": 1, "LESS": 0, "NAMED": 5}})"));
  const auto most = [&](const std::string& key, const std::vector<std::string>& makers) {
    int found = -1;
    for (int i = 0; i <= 9; ++i)
      if (priority_asked_for({{"muster:priority", std::to_string(i)}}, key, config, makers))
        found = i;
    return found;
  };
  CHECK(most("NEW", {}) == 9);
  CHECK(most("NEW", {"OTHER"}) == 9);
  CHECK(most("NEW", {"LOW"}) == 1);
  CHECK(most("NEW", {"LOW", "OTHER"}) == 1);
  CHECK(most("NEW", {"LESS", "LOW", "OTHER"}) == 0);
  CHECK(most("NAMED", {"LOW"}) == 5);
}

TEST_CASE("priority: a stored value is used unchanged, and an invalid one is 0") {
  CHECK(priority_stored({}) == 0);
  CHECK(priority_stored({{"muster:priority", "8"}}) == 8);
  CHECK(priority_stored({{"muster:priority", "88"}}) == 0);
}

}  // namespace
}  // namespace muster::jobs
