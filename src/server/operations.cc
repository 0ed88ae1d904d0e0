#include "server/operations.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "server/identity.h"
#include "server/inputs.h"
#include "server/validate.h"

namespace muster::server {
namespace {

constexpr std::int64_t page_default = 10;
constexpr std::int64_t page_max = 100;
/// Of one resource. Source: SageMaker's quotas.
constexpr std::size_t tags_max = 50;

Refusal no_such_job() {
  return {"ValidationException", "Requested resource not found."};
}

Refusal in_status(Status status) {
  return {"ValidationException", "The request was rejected because the training job is in status " +
                                     std::string(status_name(status)) + "."};
}

/// Some operations take the job's ARN for its name.
std::string job_name_of(const Call& call) {
  const std::string name = text_of(call.input, "TrainingJobName");
  const std::string named = job_of_arn(name);
  return named.empty() ? name : named;
}

/// As input brings them; none if a key comes twice.
std::optional<Tags> tags_of(const Json& input) {
  Tags tags;
  std::set<std::string> keys;
  if (const Json* list = list_of(input, "Tags"))
    for (const Json& each : *list) {
      tags.emplace_back(text_of(each, "Key"), text_of(each, "Value"));
      if (!keys.insert(tags.back().first).second) return std::nullopt;
    }
  return tags;
}

Refusal double_tag() {
  return {"ValidationException", "Duplicate tag keys found. Please specify unique tag keys."};
}

Refusal too_many_tags() {
  return {"ResourceLimitExceeded", "A resource can have at most 50 tags."};
}

std::variant<JobQuery, Refusal> query_of(const Json& input) {
  JobQuery query;
  const std::string sort_by = text_of(input, "SortBy");
  if (sort_by == "Name") query.sort_by = SortBy::name;
  if (sort_by == "Status") query.sort_by = SortBy::status;
  query.descending = text_of(input, "SortOrder") == "Descending";
  query.name_contains = text_of(input, "NameContains");
  query.status = status_named(text_of(input, "StatusEquals"));
  query.created_after = time_of(input, "CreationTimeAfter");
  query.created_before = time_of(input, "CreationTimeBefore");
  query.modified_after = time_of(input, "LastModifiedTimeAfter");
  query.modified_before = time_of(input, "LastModifiedTimeBefore");
  query.limit = static_cast<std::size_t>(std::clamp<std::int64_t>(
      integer_of(input, "MaxResults").value_or(page_default), 1, page_max));
  const std::string token = text_of(input, "NextToken");
  if (token.empty()) return query;
  const std::optional<Json> place = place_of(token);
  if (!place || integer_of(*place, "sort") != static_cast<std::int64_t>(query.sort_by) ||
      flag_of(*place, "descending") != query.descending)
    return Refusal{"ValidationException", "The NextToken is not one of this request's."};
  query.after = {text_of(*place, "key"), integer_of(*place, "number").value_or(0)};
  return query;
}

Json summary_of(const JobSummary& job) {
  Json json{{"TrainingJobName", job.name},
            {"TrainingJobArn", job.arn},
            {"CreationTime", seconds(job.created)},
            {"LastModifiedTime", seconds(job.modified)},
            {"TrainingJobStatus", status_name(job.status)},
            {"SecondaryStatus", job.secondary}};
  if (job.training_end) json["TrainingEndTime"] = seconds(*job.training_end);
  return json;
}

}  // namespace

Operations::Operations(Store& store, Jobs& jobs, Logs& logs, Metrics& metrics, Options options)
    : store_(store), jobs_(jobs), logs_(logs), metrics_(metrics), options_(std::move(options)) {}

Answer Operations::operate(const Call& call) {
  if (call.service == "logs") return logs_.operate(call.operation, call.input);
  if (call.service == "monitoring") return metrics_.operate(call.operation, call.input);
  if (call.service != "sagemaker") return identify(call, options_.realm, options_.now());
  static const std::map<std::string, Handler> handlers = {
      {"CreateTrainingJob", &Operations::create}, {"DescribeTrainingJob", &Operations::describe},
      {"ListTrainingJobs", &Operations::list},    {"StopTrainingJob", &Operations::stop},
      {"UpdateTrainingJob", &Operations::update}, {"DeleteTrainingJob", &Operations::remove},
      {"AddTags", &Operations::add_tags},         {"ListTags", &Operations::list_tags},
      {"DeleteTags", &Operations::delete_tags},   {"Search", &Operations::search},
  };
  const auto handler = handlers.find(call.operation);
  if (handler == handlers.end())
    return Refusal{"UnknownOperationException",
                   "muster does not serve sagemaker:" + call.operation};
  return (this->*handler->second)(call);
}

Answer Operations::create(const Call& call) {
  const std::optional<Tags> tags = tags_of(call.input);
  if (!tags) return double_tag();
  if (tags->size() > tags_max) return too_many_tags();
  Json request = call.input;
  request.erase("Tags");
  const Result<MetricDefinitions> definitions = MetricDefinitions::from(request);
  if (!definitions) return Refusal{"ValidationException", definitions.error().text};
  if (std::optional<Refusal> refusal = jobs_.refuses(request)) return *std::move(refusal);
  const std::string name = job_name_of(call);
  const std::string arn = job_arn(options_.realm, name);
  const Result<Submitted> submitted = store_.submit({.name = name,
                                                     .arn = arn,
                                                     .request = to_text(request),
                                                     .tags = *tags,
                                                     .now = options_.now(),
                                                     .invocation = call.invocation});
  if (!submitted) return internal_failure(submitted.error());
  if (*submitted == Submitted::taken)
    return Refusal{"ResourceInUse",
                   "Training job names must be unique within an AWS account and region, and a "
                   "training job with this name already exists (" +
                       arn + ")"};
  if (*submitted == Submitted::made) jobs_.submitted(name);
  return Json{{"TrainingJobArn", arn}};
}

Answer Operations::describe(const Call& call) {
  const Result<std::optional<Job>> job = store_.job(job_name_of(call));
  if (!job) return internal_failure(job.error());
  if (!*job) return no_such_job();
  const Result<std::vector<MetricSample>> metrics = store_.final_metrics((*job)->name);
  if (!metrics) return internal_failure(metrics.error());
  return describe_job(**job, *metrics);
}

Answer Operations::list(const Call& call) {
  std::variant<JobQuery, Refusal> read = query_of(call.input);
  if (const Refusal* refusal = std::get_if<Refusal>(&read)) return *refusal;
  JobQuery& query = std::get<JobQuery>(read);
  const std::size_t limit = query.limit++;  // One more tells whether there is a next page.
  Json answer{{"TrainingJobSummaries", Json::array()}};
  // No job here has a warm pool or a training plan.
  if (!text_of(call.input, "WarmPoolStatusEquals").empty() ||
      !text_of(call.input, "TrainingPlanArnEquals").empty())
    return answer;
  const Result<std::vector<JobSummary>> jobs = store_.list(query);
  if (!jobs) return internal_failure(jobs.error());
  for (std::size_t i = 0; i < std::min(limit, jobs->size()); ++i)
    answer["TrainingJobSummaries"].push_back(summary_of((*jobs)[i]));
  if (jobs->size() > limit) {
    const JobSummary& last = (*jobs)[limit - 1];
    answer["NextToken"] = page_token({{"sort", static_cast<int>(query.sort_by)},
                                      {"descending", query.descending},
                                      {"key", sort_key(last, query.sort_by)},
                                      {"number", last.number}});
  }
  return answer;
}

Answer Operations::stop(const Call& call) {
  const Result<std::optional<Job>> job = store_.job(job_name_of(call));
  if (!job) return internal_failure(job.error());
  if (!*job) return no_such_job();
  const Status status = (*job)->state.status;
  if (is_terminal(status)) return in_status(status);
  if (status == Status::stopping) return Json::object();
  const Result<bool> changed =
      store_.set_status((*job)->name, {.status = Status::stopping,
                                       .secondary = "Stopping",
                                       .message = "Stopping the training job",
                                       .time = options_.now()});
  if (!changed) return internal_failure(changed.error());
  jobs_.stop((*job)->name);
  return Json::object();
}

Answer Operations::update(const Call& call) {
  const Result<std::optional<Job>> job = store_.job(job_name_of(call));
  if (!job) return internal_failure(job.error());
  if (!*job) return no_such_job();
  if (is_terminal((*job)->state.status)) return in_status((*job)->state.status);
  Result<Json> request = parse_json((*job)->request);
  if (!request) return internal_failure(request.error());
  Json update = only_known(call.service, call.operation, call.input);
  update.erase("TrainingJobName");
  request->merge_patch(update);
  const Result<bool> set = store_.set_request((*job)->name, to_text(*request), options_.now());
  if (!set) return internal_failure(set.error());
  return Json{{"TrainingJobArn", (*job)->arn}};
}

Answer Operations::remove(const Call& call) {
  const Result<std::optional<Job>> job = store_.job(job_name_of(call));
  if (!job) return internal_failure(job.error());
  if (!*job) return no_such_job();
  if (!is_terminal((*job)->state.status))
    return Refusal{"ResourceInUse", in_status((*job)->state.status).message};
  const Result<bool> removed = store_.remove((*job)->name);
  if (!removed) return internal_failure(removed.error());
  logs_.forget((*job)->name);
  jobs_.deleted((*job)->name);
  return Json::object();
}

std::variant<std::string, Refusal> Operations::tagged(const Call& call) {
  const Result<std::optional<Job>> job = store_.job(job_of_arn(text_of(call.input, "ResourceArn")));
  if (!job) return internal_failure(job.error());
  if (!*job) return no_such_job();
  return (*job)->arn;
}

Answer Operations::add_tags(const Call& call) {
  const std::optional<Tags> tags = tags_of(call.input);
  if (!tags) return double_tag();
  const std::variant<std::string, Refusal> arn = tagged(call);
  if (const Refusal* refusal = std::get_if<Refusal>(&arn)) return *refusal;
  const Result<bool> added = store_.add_tags(std::get<std::string>(arn), *tags, tags_max);
  if (!added) return internal_failure(added.error());
  if (!*added) return too_many_tags();
  return list_tags(call);
}

Answer Operations::list_tags(const Call& call) {
  const std::variant<std::string, Refusal> arn = tagged(call);
  if (const Refusal* refusal = std::get_if<Refusal>(&arn)) return *refusal;
  if (!text_of(call.input, "NextToken").empty())
    return Refusal{"ValidationException", "The NextToken is not one of this request's."};
  const Result<Tags> tags = store_.tags(std::get<std::string>(arn));
  if (!tags) return internal_failure(tags.error());
  return Json{{"Tags", to_json(*tags)}};  // All of them: they are fewer than a page.
}

Answer Operations::delete_tags(const Call& call) {
  const std::variant<std::string, Refusal> arn = tagged(call);
  if (const Refusal* refusal = std::get_if<Refusal>(&arn)) return *refusal;
  const Result<void> removed =
      store_.remove_tags(std::get<std::string>(arn), texts_of(call.input, "TagKeys"));
  if (!removed) return internal_failure(removed.error());
  return Json::object();
}

}  // namespace muster::server
