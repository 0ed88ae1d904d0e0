#include "platform/places/job_description.h"

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/terminal.h"
#include "base/text.h"
#include "platform/failure_reason.h"

namespace muster::places {
namespace {

constexpr const char* lost_reason =
    "lost: the process that ran the job was killed together with its hosts; the log ends there";

/// AWS's JSON has times as seconds since 1970.
double seconds_of(UnixMillis time) {
  return static_cast<double>(time.count()) / 1000;
}

std::string url_of(const std::string& path) {
  return path.empty() ? path : "file://" + to_utf8(path);
}

}  // namespace

Json description_of(const job::Spec& spec, UnixMillis now) {
  Json channels = Json::array();
  for (const job::InputChannel& channel : spec.input)
    channels.push_back({{"ChannelName", channel.name},
                        {"DataSource", {{"S3DataSource", {{"S3Uri", url_of(channel.folder)}}}}}});
  Json description{{"TrainingJobName", spec.name},
                   {"TrainingJobStatus", "InProgress"},
                   {"SecondaryStatus", "Starting"},
                   {"CreationTime", seconds_of(now)},
                   {"LastModifiedTime", seconds_of(now)},
                   {"HyperParameters", spec.hyperparameters},
                   {"InputDataConfig", std::move(channels)},
                   {"OutputDataConfig", {{"S3OutputPath", url_of(spec.output_folder)}}},
                   {"ResourceConfig",
                    {{"InstanceCount", spec.instance_count}, {"InstanceType", spec.instance_type}}},
                   {"StoppingCondition", {{"MaxRuntimeInSeconds", spec.run_time_max.count()}}},
                   {"SecondaryStatusTransitions", Json::array()},
                   {"MusterPlace", "local"},
                   {"MusterNetwork", job::network_name(spec.network)},
                   {"MusterSource", to_utf8(spec.source_folder)}};
  if (spec.image)
    description["AlgorithmSpecification"] = {
        {"TrainingImage",
         spec.image->name + (spec.image->digest.empty() ? "" : "@" + spec.image->digest)}};
  return description;
}

void add_status(Json& description, const platform::StatusLine& line) {
  Json& changes = description["SecondaryStatusTransitions"];
  const double time = seconds_of(line.time);
  const std::string message = to_utf8(line.message);
  const auto is_in = [&changes, &line](std::size_t from_back) {
    return changes.size() >= from_back &&
           member_text(changes[changes.size() - from_back], "Status") == line.status;
  };
  if (line.beside && !is_in(1)) return;
  const bool has_beside = is_in(1) && is_in(2);
  if (line.beside && has_beside) changes.erase(changes.size() - 1);
  if (is_in(1) && !line.beside) {
    changes[changes.size() - (has_beside ? 2 : 1)]["StatusMessage"] = message;
  } else {
    if (!changes.empty()) changes.back()["EndTime"] = time;
    changes.push_back({{"Status", line.status}, {"StartTime", time}, {"StatusMessage", message}});
  }
  description["SecondaryStatus"] = line.status;
  description["LastModifiedTime"] = time;
  if (line.status == "Stopping") description["TrainingJobStatus"] = "Stopping";
  const bool begins = line.status == "Downloading" || line.status == "Training";
  if (begins && !description.contains("TrainingStartTime")) description["TrainingStartTime"] = time;
}

void add_standstill(Json& description, const std::optional<platform::Standstill>& what) {
  description.erase("MusterHang");
  description.erase("MusterSilentSince");
  if (what && what->verdict.empty()) description["MusterSilentSince"] = seconds_of(what->since);
  if (what && !what->verdict.empty())
    description["MusterHang"] = {{"since", seconds_of(what->since)},
                                 {"noticed", seconds_of(what->noticed)},
                                 {"verdict", to_utf8(what->verdict)}};
}

void add_log(Json& description, const std::string& host, const job::LogLine& line) {
  if (std::string report = job::numa_report_of(line); !report.empty())
    description["MusterNuma"][to_utf8(host)] = std::move(report);
}

void add_end(Json& description, const platform::JobReport& report, int exit_code) {
  const platform::JobEnd& end = report.end;
  add_status(description, end.last);
  add_standstill(description, std::nullopt);
  description["TrainingJobStatus"] = platform::status_name(end.status);
  description["TrainingEndTime"] = seconds_of(end.last.time);
  description["TrainingTimeInSeconds"] = end.training_time.count();
  description["BillableTimeInSeconds"] = end.training_time.count();
  const std::string reason = platform::failure_reason(report);
  if (!reason.empty()) description["FailureReason"] = reason;
  description["MusterVerdict"] = job::to_json(end.verdict);
  if (end.cause) description["MusterCause"] = platform::to_json(*end.cause);
  description["MusterExitCode"] = exit_code;
  description["MusterResults"] = report.results.written;
  if (!report.trouble.empty()) description["MusterNotes"] = Json::array({to_utf8(report.trouble)});
}

bool has_ended(const Json& description) {
  const std::string status = member_text(description, "TrainingJobStatus");
  return status == "Completed" || status == "Failed" || status == "Stopped";
}

void add_loss(Json& description, UnixMillis time) {
  add_status(description, {"Failed", lost_reason, time});
  add_standstill(description, std::nullopt);
  description["TrainingJobStatus"] = "Failed";
  description["TrainingEndTime"] = seconds_of(time);
  description["FailureReason"] = lost_reason;
}

Json summary_of(const Json& description) {
  Json summary = Json::object();
  for (const char* name : {"TrainingJobName", "CreationTime", "TrainingEndTime", "LastModifiedTime",
                           "TrainingJobStatus", "SecondaryStatus", "MusterPlace", "MusterSlurm",
                           "MusterHang", "MusterSilentSince"})
    if (const auto found = description.find(name); found != description.end())
      summary[name] = *found;
  return summary;
}

}  // namespace muster::places
