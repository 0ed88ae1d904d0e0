// Search over training jobs.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aws/api/inputs.h"
#include "server/operations/operations.h"
#include "server/operations/search.h"

namespace muster::server {
namespace {

/// A record is made of several tables and takes about 0.1 ms.
constexpr std::size_t looked_at_max = 500;

Result<Json> record_of(store::Store& store, const jobs::Jobs& jobs, const std::string& name) {
  const std::optional<store::Job> job = TRY(store.job(name));
  if (!job) return Json();
  const std::vector<store::MetricSample> metrics = TRY(store.final_metrics(name));
  const store::Tags tags = TRY(store.tags(job->arn));
  Json record = describe_job(*job, metrics, jobs.why_waiting(name));
  record["Tags"] = to_json(tags);
  return record;
}

/// A search and its progress.
struct Search {
  store::Store& store;
  const jobs::Jobs& jobs;
  const Json* expression;
  std::size_t limit;
  Json results = Json::array();
  std::size_t hits = 0;  ///< Matches on all pages so far, more than the results.

  /// The record if the job matches, else null.
  Result<Json> match(const std::string& name) const {
    Json record = TRY(record_of(store, jobs, name));
    if (!record.is_null() && expression != nullptr && !matches(record, *expression)) return Json();
    return record;
  }
  void add(Json record) { results.push_back({{"TrainingJob", std::move(record)}}); }
  Json answer(bool is_total) {
    return {{"Results", std::move(results)},
            {"TotalHits",
             {{"Value", hits}, {"Relation", is_total ? "EqualTo" : "GreaterThanOrEqualTo"}}}};
  }
};

aws::Refusal wrong_token() {
  return api::invalid("The NextToken does not belong to this request.");
}

/// None: no index has jobs in that order.
std::optional<store::SortBy> order_of(const std::string& sort_by) {
  if (sort_by.empty() || sort_by == "LastModifiedTime") return store::SortBy::modified;
  if (sort_by == "CreationTime") return store::SortBy::creation_time;
  if (sort_by == "TrainingJobName") return store::SortBy::name;
  if (sort_by == "TrainingJobStatus") return store::SortBy::status;
  return std::nullopt;
}

/// Where a page of a search in an index's order begins.
Result<void, aws::Refusal> go_on(const std::string& token, Search& search, store::JobQuery& query) {
  if (token.empty()) return {};
  const std::optional<Json> place = api::place_of(token);
  const std::int64_t hits = place ? api::integer_of(*place, "hits").value_or(-1) : -1;
  if (hits < 0 || api::integer_of(*place, "sort") != static_cast<std::int64_t>(query.sort_by) ||
      api::flag_of(*place, "descending") != query.descending)
    return wrong_token();
  query.after = {api::text_of(*place, "key"), api::integer_of(*place, "number").value_or(0)};
  search.hits = static_cast<std::size_t>(hits);
  return {};
}

/// A page of the jobs in an index's order: of so many of them as a call looks at.
api::Answer in_order(Search search, store::JobQuery query, const std::string& token) {
  TRY(go_on(token, search, query));
  const std::size_t before = search.hits;
  const Result<store::JobPage> page = search.store.page(query);
  if (!page) return api::internal_failure(page.error());
  std::optional<store::ListPlace> next = page->next;
  for (const store::JobSummary& each : page->jobs) {
    Result<Json> record = search.match(each.name);
    if (!record) return api::internal_failure(record.error());
    if (record->is_null()) continue;
    ++search.hits;
    if (search.results.size() == search.limit) continue;
    search.add(*std::move(record));
    const bool is_last = each.number == page->jobs.back().number;
    if (search.results.size() == search.limit && !is_last)
      next = {store::sort_key(each, query.sort_by), each.number};
  }
  const std::size_t given = search.results.size();
  // The next page begins behind the last result, and may find that nothing else matches.
  if (!page->next && search.hits == before + given) next.reset();
  Json answer = search.answer(!page->next);
  if (next)
    answer["NextToken"] = api::page_token({{"sort", static_cast<int>(query.sort_by)},
                                           {"descending", query.descending},
                                           {"key", next->first},
                                           {"number", next->second},
                                           {"hits", before + given}});
  return answer;
}

/// A page of all that match, by a property that no index knows. One record at a time is held.
api::Answer by_property(Search search, store::JobQuery query, const std::string& sort_by,
                        const std::string& token) {
  const std::optional<Json> place = token.empty() ? std::nullopt : api::place_of(token);
  std::int64_t from = 0;
  if (!token.empty()) from = place ? api::integer_of(*place, "from").value_or(-1) : -1;
  if (from < 0) return wrong_token();
  const Result<store::JobPage> page = search.store.page(query);
  if (!page) return api::internal_failure(page.error());
  if (page->next)
    return api::invalid("SortBy " + sort_by + ": this server has more than " +
                        std::to_string(query.limit) +
                        " training jobs, so it can sort them only by CreationTime, "
                        "LastModifiedTime, TrainingJobName or TrainingJobStatus");
  std::vector<std::pair<Json, std::string>> found;
  for (const store::JobSummary& each : page->jobs) {
    const Result<Json> record = search.match(each.name);
    if (!record) return api::internal_failure(record.error());
    if (!record->is_null()) found.emplace_back(property(*record, sort_by), each.name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (query.descending) std::reverse(found.begin(), found.end());
  search.hits = found.size();
  std::size_t at = static_cast<std::size_t>(from);
  const std::size_t end = std::min(found.size(), at + search.limit);
  for (; at < end; ++at) {
    Result<Json> record = record_of(search.store, search.jobs, found[at].second);
    if (!record) return api::internal_failure(record.error());
    search.add(*std::move(record));
  }
  Json answer = search.answer(true);
  if (at < found.size()) answer["NextToken"] = api::page_token({{"from", at}});
  return answer;
}

}  // namespace

api::Answer Operations::search(const api::Request& request) {
  const std::string resource = api::text_of(request.input, "Resource");
  if (resource != "TrainingJob") return Json{{"Results", Json::array()}};
  const std::size_t limit = static_cast<std::size_t>(
      std::clamp<std::int64_t>(api::integer_of(request.input, "MaxResults").value_or(10), 1, 100));
  Search search{store_, jobs_, api::object_of(request.input, "SearchExpression"), limit};
  const std::string sort_by = api::text_of(request.input, "SortBy");
  const std::optional<store::SortBy> order = order_of(sort_by);
  const store::JobQuery query{.sort_by = order.value_or(store::SortBy::creation_time),
                              .descending = api::text_of(request.input, "SortOrder") != "Ascending",
                              .limit = looked_at_max,
                              .looked_at_max = looked_at_max};
  const std::string token = api::text_of(request.input, "NextToken");
  return order ? in_order(std::move(search), query, token)
               : by_property(std::move(search), query, sort_by, token);
}

}  // namespace muster::server
