#include "server/operations/job_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "server/operations/describe.h"
#include "server/operations/search.h"

namespace muster::server {
namespace {

constexpr std::size_t looked_at_max = 500;
constexpr std::size_t records_per_step = 10;

aws::Refusal wrong_token() {
  return api::invalid("The NextToken does not belong to this request.");
}

std::optional<store::SortBy> order_of(const std::string& sort_by) {
  if (sort_by.empty() || sort_by == "LastModifiedTime") return store::SortBy::modified;
  if (sort_by == "CreationTime") return store::SortBy::creation_time;
  if (sort_by == "TrainingJobName") return store::SortBy::name;
  if (sort_by == "TrainingJobStatus") return store::SortBy::status;
  return std::nullopt;
}

}  // namespace

JobSearch::JobSearch(store::Store& store, const jobs::Jobs& jobs, Json input)
    : store_(store),
      jobs_(jobs),
      input_(std::move(input)),
      sort_by_(api::text_of(input_, "SortBy")),
      order_(order_of(sort_by_)),
      query_{.sort_by = order_.value_or(store::SortBy::creation_time),
             .descending = api::text_of(input_, "SortOrder") != "Ascending",
             .limit = looked_at_max,
             .looked_at_max = looked_at_max},
      limit_(static_cast<std::size_t>(
          std::clamp<std::int64_t>(api::integer_of(input_, "MaxResults").value_or(10), 1, 100))) {}

std::optional<api::Answer> JobSearch::step() {
  if (api::text_of(input_, "Resource") != "TrainingJob") return Json{{"Results", Json::array()}};
  if (stage_ == Stage::begin) {
    stage_ = Stage::look;
    const Result<void, aws::Refusal> begun = begin();
    if (!begun) return begun.error();
    return std::nullopt;
  }
  for (std::size_t records = 0; records < records_per_step; ++records) {
    Result<void> done;
    if (looked_at_ < page_.jobs.size())
      done = look_at(page_.jobs[looked_at_++]);
    else if (order_)
      return answer_in_order();
    else if (stage_ == Stage::look)
      begin_building();
    else if (built_ < found_.size() && results_.size() < limit_)
      done = build(found_[built_++].second);
    else
      return answer_by_property();
    if (!done) return api::internal_failure(done.error());
  }
  return std::nullopt;
}

/// Finds the jobs to look at.
Result<void, aws::Refusal> JobSearch::begin() {
  const std::string token = api::text_of(input_, "NextToken");
  if (order_ && !token.empty()) TRY(go_on_in_order());
  if (!order_ && !token.empty()) {
    const std::optional<Json> place = api::place_of(token);
    const std::int64_t from = place ? api::integer_of(*place, "from").value_or(-1) : -1;
    if (from < 0) return wrong_token();
    built_ = static_cast<std::size_t>(from);
  }
  Result<store::JobPage> page = store_.page(query_);
  if (!page) return api::internal_failure(page.error());
  page_ = *std::move(page);
  next_ = page_.next;
  if (!order_ && page_.next)
    return api::invalid("SortBy " + sort_by_ + ": this server has more than " +
                        std::to_string(query_.limit) +
                        " training jobs, so it can sort them only by CreationTime, "
                        "LastModifiedTime, TrainingJobName or TrainingJobStatus");
  return {};
}

/// Where a page of a search in an index's order begins.
Result<void, aws::Refusal> JobSearch::go_on_in_order() {
  const std::optional<Json> place = api::place_of(api::text_of(input_, "NextToken"));
  const std::int64_t hits = place ? api::integer_of(*place, "hits").value_or(-1) : -1;
  if (hits < 0 || api::integer_of(*place, "sort") != static_cast<std::int64_t>(query_.sort_by) ||
      api::flag_of(*place, "descending") != query_.descending)
    return wrong_token();
  query_.after = {api::text_of(*place, "key"), api::integer_of(*place, "number").value_or(0)};
  hits_ = hits_before_ = static_cast<std::size_t>(hits);
  return {};
}

/// Null if the job has been deleted.
Result<Json> JobSearch::record_of(const std::string& name) const {
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return Json();
  const std::vector<store::MetricSample> metrics = TRY(store_.final_metrics(name));
  const store::Tags tags = TRY(store_.tags(job->arn));
  Json record = describe_job(*job, metrics, jobs_.why_waiting(name));
  record["Tags"] = to_json(tags);
  return record;
}

/// The record if the job matches, else null.
Result<Json> JobSearch::match(const std::string& name) const {
  Json record = TRY(record_of(name));
  const Json* const expression = api::object_of(input_, "SearchExpression");
  if (!record.is_null() && expression != nullptr && !matches(record, *expression)) return Json();
  return record;
}

/// One record at a time is held, besides the results.
Result<void> JobSearch::look_at(const store::JobSummary& job) {
  Json record = TRY(match(job.name));
  if (record.is_null()) return {};
  ++hits_;
  if (!order_) {
    found_.emplace_back(property(record, sort_by_), job.name);
    return {};
  }
  if (results_.size() == limit_) return {};
  results_.push_back({{"TrainingJob", std::move(record)}});
  const bool is_last = job.number == page_.jobs.back().number;
  if (results_.size() == limit_ && !is_last)
    next_ = {store::sort_key(job, query_.sort_by), job.number};
  return {};
}

void JobSearch::begin_building() {
  stage_ = Stage::build;
  std::stable_sort(found_.begin(), found_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (query_.descending) std::reverse(found_.begin(), found_.end());
}

Result<void> JobSearch::build(const std::string& name) {
  Json record = TRY(record_of(name));
  if (!record.is_null()) results_.push_back({{"TrainingJob", std::move(record)}});
  return {};
}

Json JobSearch::answer_so_far(bool is_total) {
  return {{"Results", std::move(results_)},
          {"TotalHits",
           {{"Value", hits_}, {"Relation", is_total ? "EqualTo" : "GreaterThanOrEqualTo"}}}};
}

api::Answer JobSearch::answer_in_order() {
  const std::size_t given = results_.size();
  // The next page begins behind the last result, and may find that nothing else matches.
  if (!page_.next && hits_ == hits_before_ + given) next_.reset();
  Json answer = answer_so_far(!page_.next);
  if (next_)
    answer["NextToken"] = api::page_token({{"sort", static_cast<int>(query_.sort_by)},
                                           {"descending", query_.descending},
                                           {"key", next_->first},
                                           {"number", next_->second},
                                           {"hits", hits_before_ + given}});
  return answer;
}

api::Answer JobSearch::answer_by_property() {
  Json answer = answer_so_far(true);
  if (built_ < found_.size()) answer["NextToken"] = api::page_token({{"from", built_}});
  return answer;
}

}  // namespace muster::server
