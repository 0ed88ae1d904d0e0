#include "server/operations/describe.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "job/limits.h"
#include "job/spec.h"
#include "server/jobs/job_notes.h"
#include "server/jobs/job_preparation.h"

namespace muster::server {
namespace {

/// What only an answer may hold: a request that brings it as an unknown member is not echoed so.
constexpr const char* answered_only[] = {
    "BillableTimeInSeconds", "MusterCause",           "MusterHang",          "MusterImage",
    "MusterNetwork",         "MusterNotes",           "MusterNuma",          "MusterPriority",
    "MusterQueueLength",     "MusterQueuePlace",      "MusterSilentSince",   "MusterSlurm",
    "FailureReason",         "ModelArtifacts",        "FinalMetricDataList", "TrainingEndTime",
    "TrainingStartTime",     "TrainingTimeInSeconds", "WarmPoolStatus",      "Tags",
};

Json transitions_json(const std::vector<store::Transition>& transitions) {
  Json list = Json::array();
  for (const store::Transition& each : transitions) {
    Json json{{"Status", each.status},
              {"StartTime", api::seconds(each.start)},
              {"StatusMessage", each.message}};
    if (each.end) json["EndTime"] = api::seconds(*each.end);
    list.push_back(std::move(json));
  }
  return list;
}

/// Defaults of AWS's for what the request left out and clients read.
void add_defaults(Json& answer) {
  Json& output = answer["OutputDataConfig"];
  if (!output.is_object()) output = Json::object();
  output.emplace("KmsKeyId", "");
  output.emplace("CompressionType", "GZIP");
  Json& resources = answer["ResourceConfig"];
  if (!resources.is_object()) resources = Json::object();
  resources.emplace("VolumeSizeInGB", job::volume_gib_default);
  const Json* groups = api::list_of(resources, "InstanceGroups");
  if (groups != nullptr && groups->empty()) resources.erase("InstanceGroups");
  if (api::object_of(answer, "StoppingCondition") == nullptr)
    answer["StoppingCondition"] = {{"MaxRuntimeInSeconds", 86400}};
  if (api::object_of(answer, "AlgorithmSpecification") == nullptr)
    answer["AlgorithmSpecification"] = {{"TrainingInputMode", "File"}};
  for (const char* name : {"EnableNetworkIsolation", "EnableInterContainerTrafficEncryption",
                           "EnableManagedSpotTraining"})
    answer.emplace(name, false);
}

}  // namespace

aws::Refusal no_such_job() {
  return api::invalid("Requested resource not found.");
}

Json to_json(const store::Tags& tags) {
  Json list = Json::array();
  for (const auto& [key, value] : tags) list.push_back({{"Key", key}, {"Value", value}});
  return list;
}

Json describe_job(const store::Job& job, const std::vector<store::MetricSample>& final_metrics,
                  const std::string& waits_for) {
  const Result<Json> request = parse_json(job.request);
  Json answer = request && request->is_object() ? *request : Json::object();
  for (const char* name : answered_only) answer.erase(name);
  add_defaults(answer);
  answer["TrainingJobName"] = job.name;
  answer["TrainingJobArn"] = job.arn;
  answer["TrainingJobStatus"] = store::status_name(job.state.status);
  answer["SecondaryStatus"] = job.state.transitions.back().status;
  Json& transitions = answer["SecondaryStatusTransitions"];
  transitions = transitions_json(job.state.transitions);
  if (!waits_for.empty()) transitions.back()["StatusMessage"] = waits_for;
  answer["CreationTime"] = api::seconds(job.created);
  answer["LastModifiedTime"] = api::seconds(job.modified);
  if (job.state.training_start)
    answer["TrainingStartTime"] = api::seconds(*job.state.training_start);
  if (job.state.training_start && job.state.training_end) {
    answer["TrainingEndTime"] = api::seconds(*job.state.training_end);
    // At least 1: the SDK divides by it.
    const std::int64_t spent = std::max<std::int64_t>(
        std::chrono::ceil<std::chrono::seconds>(*job.state.training_end - *job.state.training_start)
            .count(),
        1);
    answer["TrainingTimeInSeconds"] = spent;
    answer["BillableTimeInSeconds"] = spent;
  }
  if (const jobs::NotedImage image = jobs::noted_image(job.notes); !image.digest.empty())
    answer["MusterImage"] = image.name.substr(0, image.name.find('@')) + "@" + image.digest;
  const jobs::SplitNotes notes = jobs::split_notes(job.notes);
  if (!notes.others.empty()) answer["MusterNotes"] = notes.others;
  if (!notes.numa.empty()) answer["MusterNuma"] = notes.numa;
  const bool isolated = api::flag_of(answer, "EnableNetworkIsolation") ||
                        job.notes.find(jobs::no_network_note) != std::string::npos;
  answer["MusterNetwork"] = job::network_name(isolated ? job::Network::none : job::Network::nat);
  if (!job.failure_reason.empty()) answer["FailureReason"] = job.failure_reason;
  if (const Result<Json> cause = parse_json(job.cause); cause && cause->is_object())
    answer["MusterCause"] = *cause;
  if (!job.model_artifacts.empty())
    answer["ModelArtifacts"] = {{"S3ModelArtifacts", job.model_artifacts}};
  for (const store::MetricSample& each : final_metrics)
    answer["FinalMetricDataList"].push_back(
        {{"MetricName", each.name}, {"Value", each.value}, {"Timestamp", api::seconds(each.time)}});
  return answer;
}

}  // namespace muster::server
