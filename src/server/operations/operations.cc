#include "server/operations/operations.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "aws/api/inputs.h"
#include "aws/api/validate.h"
#include "server/jobs/manifests.h"
#include "server/jobs/priority.h"
#include "server/operations/ec2.h"
#include "server/operations/identity.h"

namespace muster::server {
namespace {

constexpr std::int64_t page_default = 10;
constexpr std::int64_t page_max = 100;
/// How many a resource may have. Source: SageMaker's quotas.
constexpr std::size_t tags_max = 50;
/// As many characters of four bytes as the API's model lets through.
constexpr std::size_t tag_key_bytes_max = 512, tag_value_bytes_max = 1024;
constexpr std::size_t instance_type_bytes_max = 64;
/// SQLite deletes as many in some milliseconds.
constexpr std::int64_t rows_at_a_time = 5'000;

aws::Refusal in_status(store::Status status) {
  return api::invalid("The request was rejected because the training job is in status " +
                      std::string(store::status_name(status)) + ".");
}

aws::Refusal name_taken(const std::string& arn) {
  return {"ResourceInUse",
          "Training job names must be unique within an AWS account and region, and a training job "
          "with this name already exists (" +
              arn + ")"};
}

/// Some operations take the job's ARN for its name.
std::string job_name_of(const api::Request& request) {
  const std::string name = api::text_of(request.input, "TrainingJobName");
  const std::string named = api::job_of_arn(name);
  return named.empty() ? name : named;
}

/// As input brings them; none if a key comes twice.
std::optional<store::Tags> tags_of(const Json& input) {
  store::Tags tags;
  std::set<std::string> keys;
  if (const Json* list = api::list_of(input, "Tags"))
    for (const Json& each : *list) {
      tags.emplace_back(api::text_of(each, "Key"), api::text_of(each, "Value"));
      if (!keys.insert(tags.back().first).second) return std::nullopt;
    }
  return tags;
}

aws::Refusal double_tag() {
  return api::invalid("Duplicate tag keys found. Please specify unique tag keys.");
}

aws::Refusal too_many_tags() {
  return {"ResourceLimitExceeded", "A resource can have at most 50 tags."};
}

/// What lists may be asked for here that AWS does not have: hosts of a type, a tag.
Result<void, aws::Refusal> add_own_filters(const Json& input, store::JobQuery& query) {
  const auto type = input.find("MusterInstanceType");
  if (type != input.end()) {
    query.instance_type_contains = api::text_of(input, "MusterInstanceType");
    if (!type->is_string() || query.instance_type_contains.size() > instance_type_bytes_max)
      return api::invalid("MusterInstanceType must be a string of at most 64 bytes.");
  }
  if (!input.contains("MusterTag")) return {};
  const Json* tag = api::object_of(input, "MusterTag");
  const auto value = tag ? tag->find("Value") : Json::const_iterator();
  const bool has_value = tag && value != tag->end();
  query.tag_key = tag ? api::text_of(*tag, "Key") : "";
  if (has_value && value->is_string()) query.tag_value = api::text_of(*tag, "Value");
  if (query.tag_key.empty() || query.tag_key.size() > tag_key_bytes_max ||
      has_value != query.tag_value.has_value() ||
      query.tag_value.value_or("").size() > tag_value_bytes_max)
    return api::invalid("MusterTag: expected the Key of a tag and, optionally, its Value.");
  return {};
}

Result<store::JobQuery, aws::Refusal> query_of(const Json& input) {
  store::JobQuery query;
  const std::string sort_by = api::text_of(input, "SortBy");
  if (sort_by == "Name") query.sort_by = store::SortBy::name;
  if (sort_by == "Status") query.sort_by = store::SortBy::status;
  query.descending = api::text_of(input, "SortOrder") == "Descending";
  query.name_contains = api::text_of(input, "NameContains");
  query.status = store::status_named(api::text_of(input, "StatusEquals"));
  query.created_after = api::time_of(input, "CreationTimeAfter");
  query.created_before = api::time_of(input, "CreationTimeBefore");
  query.modified_after = api::time_of(input, "LastModifiedTimeAfter");
  query.modified_before = api::time_of(input, "LastModifiedTimeBefore");
  query.limit = static_cast<std::size_t>(std::clamp<std::int64_t>(
      api::integer_of(input, "MaxResults").value_or(page_default), 1, page_max));
  TRY(add_own_filters(input, query));
  const std::string token = api::text_of(input, "NextToken");
  if (token.empty()) return query;
  const std::optional<Json> place = api::place_of(token);
  if (!place || api::integer_of(*place, "sort") != static_cast<std::int64_t>(query.sort_by) ||
      api::flag_of(*place, "descending") != query.descending)
    return api::invalid("The NextToken does not belong to this request.");
  query.after = {api::text_of(*place, "key"), api::integer_of(*place, "number").value_or(0)};
  return query;
}

Json summary_of(const store::JobSummary& job) {
  Json json{{"TrainingJobName", job.name},
            {"TrainingJobArn", job.arn},
            {"CreationTime", api::seconds(job.created)},
            {"LastModifiedTime", api::seconds(job.modified)},
            {"TrainingJobStatus", store::status_name(job.status)},
            {"SecondaryStatus", job.secondary}};
  if (job.training_end) json["TrainingEndTime"] = api::seconds(*job.training_end);
  return json;
}

/// The job with its place in the queue, if it waits, its job on a Slurm cluster, and whether it
/// hangs or is silent.
Json with_present_state(Json job, const jobs::Jobs& jobs, const std::string& name) {
  if (const std::optional<jobs::QueuePlace> place = jobs.place(name)) {
    job["MusterQueuePlace"] = place->place;
    job["MusterQueueLength"] = place->of;
    job["MusterPriority"] = place->priority;
  }
  if (Json slurm = jobs.in_slurm(name); !slurm.is_null()) job["MusterSlurm"] = std::move(slurm);
  const std::optional<platform::Standstill> found = jobs.standstill(name);
  if (found && found->verdict.empty()) job["MusterSilentSince"] = api::seconds(found->since);
  if (found && !found->verdict.empty())
    job["MusterHang"] = {{"since", api::seconds(found->since)},
                         {"noticed", api::seconds(found->noticed)},
                         {"verdict", found->verdict}};
  return job;
}

}  // namespace

Operations::Operations(store::Store& store, jobs::Jobs& jobs, cloudwatch::Logs& logs,
                       cloudwatch::Metrics& metrics, Stacks& stacks, Options options)
    : store_(store),
      jobs_(jobs),
      logs_(logs),
      metrics_(metrics),
      stacks_(stacks),
      options_(std::move(options)) {}

api::Answer Operations::operate(const api::Request& request) {
  if (request.service == "logs") return logs_.operate(request.operation, request.input);
  if (request.service == "monitoring") return metrics_.operate(request.operation, request.input);
  if (request.service == "cloudformation") return stacks_.operate(request);
  if (request.service == "ec2")
    return describe_networks(request, options_.realm, stacks_.networks(), stacks_.tags());
  if (request.service != "sagemaker") return identify(request, options_.realm);
  static const std::map<std::string, Handler> handlers = {
      {"CreateTrainingJob", &Operations::create}, {"DescribeTrainingJob", &Operations::describe},
      {"ListTrainingJobs", &Operations::list},    {"StopTrainingJob", &Operations::stop},
      {"UpdateTrainingJob", &Operations::update}, {"DeleteTrainingJob", &Operations::remove},
      {"AddTags", &Operations::add_tags},         {"ListTags", &Operations::list_tags},
      {"DeleteTags", &Operations::delete_tags},
  };
  const auto handler = handlers.find(request.operation);
  if (handler == handlers.end())
    return aws::Refusal{"UnknownOperationException",
                        "muster does not support sagemaker:" + request.operation};
  return (this->*handler->second)(request);
}

api::Answer Operations::create(const api::Request& request) {
  const std::optional<store::Tags> tags = tags_of(request.input);
  if (!tags) return double_tag();
  if (tags->size() > tags_max) return too_many_tags();
  Json untagged = request.input;
  untagged.erase("Tags");
  api::JobRequest asked = TRY(api::job_request(untagged));
  const Result<cloudwatch::MetricDefinitions> definitions =
      cloudwatch::MetricDefinitions::from(asked.metrics);
  if (!definitions) return api::invalid(definitions.error().text);
  TRY(jobs_.check(asked));
  TRY(jobs_.pin(asked));
  const std::optional<int> priority = TRY(jobs_.priority(*tags, request.access_key));
  const std::string name = job_name_of(request);
  const std::string arn = api::job_arn(options_.realm, name);
  const Result<void, aws::Refusal> room = jobs_.check_room(request.access_key);
  if (request.own == api::Own::check || !room) {
    const Result<std::optional<store::Job>> namesake = store_.job(name);
    if (!namesake) return api::internal_failure(namesake.error());
    // A call that is repeated is answered as the first was, full or not.
    if (!*namesake && !room) return room.error();
    if (*namesake && room) return name_taken(arn);
    if (room) return Json::object();
  }
  const UnixMillis now = options_.now();
  const Result<store::Submitted> submitted =
      store_.submit({.name = name,
                     .arn = arn,
                     .request = to_text(untagged),
                     .tags = *tags,
                     .now = now,
                     .invocation = request.invocation,
                     .access_key = request.access_key,
                     .manifests = jobs::pins_text(asked.spec)});
  if (!submitted) return api::internal_failure(submitted.error());
  if (*submitted == store::Submitted::taken) return name_taken(arn);
  if (*submitted == store::Submitted::made)
    jobs_.submitted(
        name, std::move(asked),
        {.key = request.access_key, .priority = priority.value_or(0), .submitted = now});
  return Json{{"TrainingJobArn", arn}};
}

api::Answer Operations::describe(const api::Request& request) {
  const Result<std::optional<store::Job>> job = store_.job(job_name_of(request));
  if (!job) return api::internal_failure(job.error());
  if (!*job) return no_such_job();
  const Result<std::vector<store::MetricSample>> metrics = store_.final_metrics((*job)->name);
  if (!metrics) return api::internal_failure(metrics.error());
  return with_present_state(describe_job(**job, *metrics, jobs_.why_waiting((*job)->name)), jobs_,
                            (*job)->name);
}

api::Answer Operations::list(const api::Request& request) {
  const store::JobQuery query = TRY(query_of(request.input));
  Json answer{{"TrainingJobSummaries", Json::array()}};
  // No job here has a warm pool or a training plan.
  if (!api::text_of(request.input, "WarmPoolStatusEquals").empty() ||
      !api::text_of(request.input, "TrainingPlanArnEquals").empty())
    return answer;
  const Result<store::JobPage> page = store_.page(query);
  if (!page) return api::internal_failure(page.error());
  for (const store::JobSummary& each : page->jobs)
    answer["TrainingJobSummaries"].push_back(
        with_present_state(summary_of(each), jobs_, each.name));
  if (page->next)
    answer["NextToken"] = api::page_token({{"sort", static_cast<int>(query.sort_by)},
                                           {"descending", query.descending},
                                           {"key", page->next->first},
                                           {"number", page->next->second}});
  return answer;
}

api::Answer Operations::stop(const api::Request& request) {
  const Result<std::optional<store::Job>> job = store_.job(job_name_of(request));
  if (!job) return api::internal_failure(job.error());
  if (!*job) return no_such_job();
  const store::Status status = (*job)->state.status;
  if (store::is_terminal(status)) return in_status(status);
  const auto now = request.input.find("MusterNow");
  if (now != request.input.end() && !now->is_boolean())
    return api::invalid("MusterNow must be true or false.");
  const bool at_once = now != request.input.end() && *now == true;
  if (status == store::Status::stopping) {
    if (at_once) jobs_.kill((*job)->name);
    return Json::object();
  }
  const Result<bool> changed =
      store_.set_status((*job)->name, {.status = store::Status::stopping,
                                       .secondary = "Stopping",
                                       .message = "Stopping the training job",
                                       .time = options_.now()});
  if (!changed) return api::internal_failure(changed.error());
  jobs_.stop((*job)->name);
  if (at_once) jobs_.kill((*job)->name);
  return Json::object();
}

api::Answer Operations::update(const api::Request& request) {
  const Result<std::optional<store::Job>> job = store_.job(job_name_of(request));
  if (!job) return api::internal_failure(job.error());
  if (!*job) return no_such_job();
  if (store::is_terminal((*job)->state.status)) return in_status((*job)->state.status);
  Result<Json> stored = parse_json((*job)->request);
  if (!stored) return api::internal_failure(stored.error());
  Json update = api::only_known(request.service, request.operation, request.input);
  update.erase("TrainingJobName");
  stored->merge_patch(update);
  const Result<bool> set = store_.set_request((*job)->name, to_text(*stored), options_.now());
  if (!set) return api::internal_failure(set.error());
  return Json{{"TrainingJobArn", (*job)->arn}};
}

bool Operations::remove_some(const api::Request& request) {
  const Result<std::optional<store::Job>> job = store_.job(job_name_of(request));
  if (!job || !*job || !store::is_terminal((*job)->state.status)) return false;
  const Result<bool> has_more = store_.remove_rows((*job)->name, rows_at_a_time);
  return has_more && *has_more;
}

api::Answer Operations::remove(const api::Request& request) {
  const Result<std::optional<store::Job>> job = store_.job(job_name_of(request));
  if (!job) return api::internal_failure(job.error());
  if (!*job) return no_such_job();
  if (!store::is_terminal((*job)->state.status))
    return aws::Refusal{"ResourceInUse", in_status((*job)->state.status).message};
  const Result<bool> removed = store_.remove((*job)->name);
  if (!removed) return api::internal_failure(removed.error());
  logs_.forget((*job)->name);
  jobs_.deleted((*job)->name);
  return Json::object();
}

Result<std::string, aws::Refusal> Operations::tagged(const api::Request& request) {
  const Result<std::optional<store::Job>> job =
      store_.job(api::job_of_arn(api::text_of(request.input, "ResourceArn")));
  if (!job) return api::internal_failure(job.error());
  if (!*job) return no_such_job();
  return (*job)->arn;
}

api::Answer Operations::add_tags(const api::Request& request) {
  const std::optional<store::Tags> tags = tags_of(request.input);
  if (!tags) return double_tag();
  const std::optional<int> priority = TRY(jobs_.priority(*tags, request.access_key));
  const std::string arn = TRY(tagged(request));
  const Result<bool> added = store_.add_tags(arn, *tags, tags_max);
  if (!added) return api::internal_failure(added.error());
  if (!*added) return too_many_tags();
  if (priority) jobs_.set_priority(api::job_of_arn(arn), *priority);
  return list_tags(request);
}

api::Answer Operations::list_tags(const api::Request& request) {
  const std::string arn = TRY(tagged(request));
  if (!api::text_of(request.input, "NextToken").empty())
    return api::invalid("The NextToken does not belong to this request.");
  const Result<store::Tags> tags = store_.tags(arn);
  if (!tags) return api::internal_failure(tags.error());
  return Json{{"Tags", to_json(*tags)}};  // All of them: they are fewer than a page.
}

api::Answer Operations::delete_tags(const api::Request& request) {
  const std::string arn = TRY(tagged(request));
  const std::vector<std::string> keys = api::texts_of(request.input, "TagKeys");
  const Result<void> removed = store_.remove_tags(arn, keys);
  if (!removed) return api::internal_failure(removed.error());
  if (std::find(keys.begin(), keys.end(), jobs::priority_tag) != keys.end())
    jobs_.set_priority(api::job_of_arn(arn), 0);
  return Json::object();
}

}  // namespace muster::server
