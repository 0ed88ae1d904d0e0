// Search over training jobs.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/inputs.h"
#include "server/operations.h"
#include "server/search.h"

namespace muster::server {
namespace {

Result<Json> record_of(store::Store& store, const jobs::Jobs& jobs, const std::string& name) {
  const std::optional<store::Job> job = TRY(store.job(name));
  if (!job) return Json();
  const std::vector<store::MetricSample> metrics = TRY(store.final_metrics(name));
  const store::Tags tags = TRY(store.tags(job->arn));
  Json record = describe_job(*job, metrics, jobs.why_waiting(name));
  record["Tags"] = to_json(tags);
  return record;
}

/// The names of those that match, sorted. One record at a time is held.
Result<std::vector<std::string>> matching(store::Store& store, const jobs::Jobs& jobs,
                                          const Json& input) {
  const Json* expression = api::object_of(input, "SearchExpression");
  std::string sort_by = api::text_of(input, "SortBy");
  if (sort_by.empty()) sort_by = "LastModifiedTime";
  store::JobQuery query;
  query.limit = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  const std::vector<store::JobSummary> all = TRY(store.list(query));
  std::vector<std::pair<Json, std::string>> found;
  for (const store::JobSummary& each : all) {
    const Json record = TRY(record_of(store, jobs, each.name));
    if (record.is_null() || (expression != nullptr && !matches(record, *expression))) continue;
    found.emplace_back(property(record, sort_by), each.name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (api::text_of(input, "SortOrder") != "Ascending") std::reverse(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [key, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

api::Answer Operations::search(const api::Request& request) {
  const std::string resource = api::text_of(request.input, "Resource");
  if (resource != "TrainingJob") return Json{{"Results", Json::array()}};
  std::size_t at = 0;
  if (const std::string token = api::text_of(request.input, "NextToken"); !token.empty()) {
    const std::optional<Json> place = api::place_of(token);
    const std::optional<std::int64_t> from = place ? api::integer_of(*place, "from") : std::nullopt;
    if (!from || *from < 0)
      return aws::Refusal{"ValidationException", "The NextToken is not one of this request's."};
    at = static_cast<std::size_t>(*from);
  }
  const std::size_t limit = static_cast<std::size_t>(
      std::clamp<std::int64_t>(api::integer_of(request.input, "MaxResults").value_or(10), 1, 100));
  const Result<std::vector<std::string>> names = matching(store_, jobs_, request.input);
  if (!names) return api::internal_failure(names.error());
  Json answer{{"Results", Json::array()},
              {"TotalHits", {{"Value", names->size()}, {"Relation", "EqualTo"}}}};
  const std::size_t end = std::min(names->size(), at + limit);
  for (; at < end; ++at) {
    Result<Json> record = record_of(store_, jobs_, (*names)[at]);
    if (!record) return api::internal_failure(record.error());
    answer["Results"].push_back({{"TrainingJob", *std::move(record)}});
  }
  if (at < names->size()) answer["NextToken"] = api::page_token({{"from", at}});
  return answer;
}

}  // namespace muster::server
