#include "cli/view/job_view.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/dates.h"
#include "base/fields.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/exit_code_of.h"
#include "cli/view/cause_view.h"
#include "cli/view/render.h"
#include "job/outcome/shown_words.h"
#include "job/training/raw_hyperparameters.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

constexpr const char* red = "\x1b[31m";
constexpr const char* green = "\x1b[32m";
constexpr const char* yellow = "\x1b[33m";
constexpr const char* bold = "\x1b[1m";
constexpr const char* plain = "\x1b[0m";
constexpr std::string_view file_scheme = "file://";
constexpr double seconds_most = 1e11;  // Later times are invalid: the year 5138.

const Json& member(const Json& json, std::string_view name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

const Json& inner(const Json& json, std::string_view name, std::string_view then) {
  return member(member(json, name), then);
}

/// A text of several lines, those after the first indented.
std::string shown_lines(const std::string& text, const std::string& indent) {
  std::vector<std::string> lines;
  for (const std::string& line : split(trim(text), '\n')) lines.push_back(visible_line(line));
  return join(lines, "\n" + indent);
}

std::string shown_value(const Json& value) {
  return visible_line(value.is_string() ? value.get<std::string>() : to_text(value));
}

bool hangs(const Json& job) {
  return member(job, "MusterHang").is_object() && !has_ended(job);
}

std::int64_t member_number(const Json& json, std::string_view name) {
  const Json& value = member(json, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string time_text(const Json& json, std::string_view name) {
  const std::optional<UnixMillis> time = member_time(json, name);
  return time ? zoned_text(*time) : std::string("-");
}

/// "45s", "3m05s", "2h07m".
std::string span_text(UnixMillis span) {
  const std::int64_t seconds = std::max<std::int64_t>(span.count(), 0) / 1000;
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two(seconds % 60) + "s";
  return std::to_string(seconds / 3600) + "h" + two(seconds / 60 % 60) + "m";
}

/// ": place 2 of 5, priority 3" of a job that waits for its turn; else empty.
std::string queue_text(const Json& job) {
  const std::int64_t place = member_number(job, "MusterQueuePlace");
  if (place == 0) return {};
  const std::int64_t priority = member_number(job, "MusterPriority");
  return ": place " + std::to_string(place) + " of " +
         std::to_string(member_number(job, "MusterQueueLength")) +
         (priority == 0 ? "" : ", priority " + std::to_string(priority));
}

/// "12 min", "2 h 7 min": of a job that has given no sign of life since.
std::string minutes_text(UnixMillis span) {
  const std::int64_t minutes = std::max<std::int64_t>(span.count(), 0) / 60'000;
  const std::string rest = std::to_string(minutes % 60) + " min";
  return minutes < 60 ? rest : std::to_string(minutes / 60) + " h " + rest;
}

/// ": hangs", ": silent for 12 min"; else empty. `now`: none to leave out times.
std::string standstill_text(const Json& job, std::optional<UnixMillis> now) {
  if (hangs(job)) return ": hangs";
  const std::optional<UnixMillis> since = member_time(job, "MusterSilentSince");
  if (!since || !now || has_ended(job)) return {};
  return ": silent for " + minutes_text(*now - *since);
}

/// "InProgress (Training)", "InProgress (Pending: place 2 of 5)", "InProgress (Training: hangs)",
/// "Completed".
std::string status_text(const Json& job, std::optional<UnixMillis> now = std::nullopt) {
  const std::string status = visible_line(member_text(job, "TrainingJobStatus"));
  const std::string more = visible_line(member_text(job, "SecondaryStatus")) + queue_text(job) +
                           standstill_text(job, now);
  return more.empty() || more == status ? status : status + " (" + more + ")";
}

const char* colour_of(const Json& job) {
  const std::string status = member_text(job, "TrainingJobStatus");
  if (status == "Completed") return green;
  if (status == "Failed" || hangs(job)) return red;
  return status == "Stopped" || status == "Stopping" ? yellow : bold;
}

/// As wide as it looks, for names that are not ASCII.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(std::string text, std::size_t width) {
  text.append(width - std::min(width, width_of(text)), ' ');
  return text;
}

/// A value may have several lines.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string aligned(const Fields& fields, const std::string& indent) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, width_of(name));
  std::string text;
  const std::string below = "\n" + indent + std::string(width + 2, ' ');
  for (const auto& [name, value] : fields)
    text += indent + padded(name, width + 2) + join(split(value, '\n'), below) + "\n";
  return text;
}

std::string section(const char* name, const Fields& fields) {
  return fields.empty() ? std::string() : std::string(name) + ":\n" + aligned(fields, "  ");
}

Fields map_fields(const Json& map) {
  Fields fields;
  if (!map.is_object()) return fields;
  for (const auto& [name, value] : map.items())
    fields.emplace_back(visible_line(name), shown_value(value));
  return fields;
}

std::string hosts_text(const Json& job) {
  const Json& groups = inner(job, "ResourceConfig", "InstanceGroups");
  if (!groups.is_array() || groups.empty())
    return std::to_string(hosts_of_job(job)) + " x " +
           visible_line(member_text(member(job, "ResourceConfig"), "InstanceType"));
  std::vector<std::string> each;
  for (const Json& group : groups)
    each.push_back(std::to_string(member_number(group, "InstanceCount")) + " x " +
                   visible_line(member_text(group, "InstanceType")));
  return join(each, ", ");
}

/// "algo-1 4711, algo-2 4712": who owns each host, for who kills one in a rehearsal.
std::string stewards_text(const Json& job) {
  std::vector<std::string> each;
  for (const auto& [host, pid] : member(job, "MusterStewards").items())
    if (pid.is_number_integer())
      each.push_back(visible_line(host) + " " + std::to_string(pid.get<std::int64_t>()));
  return join(each, ", ");
}

/// A line for each host with GPUs.
std::string numa_text(const Json& near) {
  std::vector<std::string> lines;
  for (const auto& [host, text] : near.items())
    if (text.is_string())
      lines.push_back(visible_line(host) + ": " + visible_line(text.get<std::string>()));
  return join(lines, "\n");
}

/// A URL; of a folder of this machine its path.
std::string place_text(const std::string& url) {
  return visible_line(url.starts_with(file_scheme) ? url.substr(file_scheme.size()) : url);
}

bool is_local(const Json& job) {
  return member_text(job, "MusterPlace") == "local";
}

/// "train: squeue -j 17, scancel 17; earlier attempts: 15, 16" without the name: of a job on a
/// Slurm cluster, and of one that has ended without the commands. Else empty.
std::string slurm_text(const Json& job) {
  const Json& slurm = member(job, "MusterSlurm");
  const std::string id = visible_line(member_text(slurm, "JobId"));
  if (id.empty()) return {};
  std::vector<std::string> parts;
  if (!has_ended(job)) parts.push_back("squeue -j " + id + ", scancel " + id);
  std::vector<std::string> earlier;
  for (const Json& each : member(slurm, "EarlierJobIds"))
    if (each.is_string()) earlier.push_back(visible_line(each.get<std::string>()));
  if (!earlier.empty()) parts.push_back("earlier attempts: " + join(earlier, ", "));
  return join(parts, "; ");
}

/// "local", "server", "slurm 17 on node[1-2]", "slurm 18 (Resources)".
std::string where_text(const Json& job) {
  const Json& slurm = member(job, "MusterSlurm");
  if (!slurm.is_object()) return is_local(job) ? "local" : "server";
  const std::string nodes = member_text(slurm, "Nodes");
  const std::string reason = has_ended(job) ? "" : member_text(slurm, "Reason");
  return visible_line("slurm " + member_text(slurm, "JobId") +
                      (!nodes.empty()    ? " on " + nodes
                       : !reason.empty() ? " (" + reason + ")"
                                         : ""));
}

Fields head_fields(const Json& job, bool colour) {
  Fields fields;
  const auto field = [&](const char* name, const std::string& value) {
    if (!value.empty() && value != "-") fields.emplace_back(name, value);
  };
  field("Name", visible_line(member_text(job, "TrainingJobName")));
  const Json& slurm = member(job, "MusterSlurm");
  if (is_local(job)) field("Where", slurm.is_object() ? "a Slurm cluster" : "this machine");
  const std::string status = status_text(job);
  field("Status", colour ? colour_of(job) + status + plain : status);
  if (hangs(job)) {
    const Json& hang = member(job, "MusterHang");
    field("Hang", visible_line(member_text(hang, "verdict")) + "\nsince " +
                      time_text(hang, "since") + "; sm stacks " +
                      visible_line(member_text(job, "TrainingJobName")) +
                      " shows where each rank is");
  }
  if (!has_ended(job)) field("Last line", time_text(job, "MusterSilentSince"));
  field("Reason", shown_lines(member_text(job, "FailureReason"), ""));
  for (const auto& [name, value] : cause_fields(member(job, "MusterCause")))
    field(name.c_str(), value);
  field("Image", visible_line(member_text(member(job, "AlgorithmSpecification"), "TrainingImage")));
  field("Hosts", hosts_text(job));
  field("Nodes", visible_line(member_text(slurm, "Nodes")));
  if (slurm.is_object())
    field("Slurm job", visible_line(member_text(slurm, "JobId")) + "  " +
                           visible_line(member_text(slurm, "Name")) + "\n" + slurm_text(job));
  if (!has_ended(job)) field("Waits for", visible_line(member_text(slurm, "Reason")));
  field("Stewards", stewards_text(job));
  field("NUMA", numa_text(member(job, "MusterNuma")));
  field("Network", visible_line(member_text(job, "MusterNetwork")));
  for (const Json& note : member(job, "MusterNotes"))
    if (note.is_string()) field("Note", visible_line(note.get<std::string>()));
  field("Created", time_text(job, "CreationTime"));
  field("Started", time_text(job, "TrainingStartTime"));
  field("Ended", time_text(job, "TrainingEndTime"));
  if (const std::int64_t seconds = member_number(job, "TrainingTimeInSeconds"); seconds > 0)
    field("Training time", span_text(UnixMillis(seconds * 1000)));
  const bool left_nothing = is_local(job) && has_ended(job) && results_of(job).empty();
  if (!left_nothing)
    field("Output", place_text(member_text(member(job, "OutputDataConfig"), "S3OutputPath")));
  field("Model", visible_line(member_text(member(job, "ModelArtifacts"), "S3ModelArtifacts")));
  if (!results_of(job).empty()) field("Log", visible_line(results_of(job)) + "/log");
  if (const Json& code = member(job, "MusterExitCode"); code.is_number_integer())
    field("Exit code", std::to_string(code.get<std::int64_t>()));
  field("Checkpoints", visible_line(member_text(member(job, "CheckpointConfig"), "S3Uri")));
  return fields;
}

Fields input_fields(const Json& job) {
  Fields fields;
  for (const Json& channel : member(job, "InputDataConfig"))
    fields.emplace_back(
        visible_line(member_text(channel, "ChannelName")),
        place_text(member_text(inner(channel, "DataSource", "S3DataSource"), "S3Uri")));
  return fields;
}

}  // namespace

std::optional<UnixMillis> member_time(const Json& json, std::string_view name) {
  const Json& value = member(json, name);
  if (!value.is_number()) return std::nullopt;
  const double seconds = value.get<double>();
  if (!(std::abs(seconds) < seconds_most)) return std::nullopt;
  return UnixMillis(std::llround(seconds * 1000));
}

std::string jobs_table(const Json& summaries, UnixMillis now, bool colour) {
  if (!summaries.is_array() || summaries.empty()) return "no jobs\n";
  const bool placed = std::any_of(summaries.begin(), summaries.end(), [](const Json& job) {
    return is_local(job) || member(job, "MusterSlurm").is_object();
  });
  std::vector<std::vector<std::string>> rows{{"NAME", "STATUS", "CREATED", "TOOK"}};
  if (placed) rows[0].emplace_back("WHERE");
  for (const Json& job : summaries) {
    const std::optional<UnixMillis> created = member_time(job, "CreationTime");
    std::optional<UnixMillis> end = member_time(job, "TrainingEndTime");
    if (!end) end = has_ended(job) ? member_time(job, "LastModifiedTime") : now;
    rows.push_back({visible_line(member_text(job, "TrainingJobName")), status_text(job, now),
                    time_text(job, "CreationTime"),
                    created && end ? span_text(*end - *created) : "-"});
    if (placed) rows.back().push_back(where_text(job));
  }
  const std::size_t columns = rows[0].size();
  std::vector<std::size_t> widths(columns);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string text;
  for (std::size_t number = 0; number < rows.size(); ++number) {
    for (std::size_t i = 0; i < columns; ++i) {
      const bool last = i + 1 == columns;
      const std::string cell = last ? rows[number][i] : padded(rows[number][i], widths[i] + 2);
      const bool coloured = colour && (number == 0 || i == 1);
      const char* start = number == 0 ? bold : colour_of(summaries[number - 1]);
      text += coloured ? start + cell + plain : cell;
    }
    text += "\n";
  }
  for (const Json& job : summaries)
    if (const std::string slurm = slurm_text(job); !slurm.empty() && !has_ended(job))
      text += visible_line(member_text(job, "TrainingJobName")) + " (" +
              visible_line(member_text(member(job, "MusterSlurm"), "Name")) + "): " + slurm + "\n";
  return text;
}

std::string job_text(const Json& job, bool colour) {
  std::string text = aligned(head_fields(job, colour), "");
  text += section("Inputs", input_fields(job));
  text += section("Hyperparameters", map_fields(member(job, "HyperParameters")));
  text += section("Environment", map_fields(member(job, "Environment")));
  Fields metrics;
  for (const Json& metric : member(job, "FinalMetricDataList"))
    metrics.emplace_back(visible_line(member_text(metric, "MetricName")),
                         shown_value(member(metric, "Value")));
  text += section("Metrics", metrics);
  Fields statuses;
  for (const Json& change : member(job, "SecondaryStatusTransitions"))
    statuses.emplace_back(
        time_text(change, "StartTime") + "  " + visible_line(member_text(change, "Status")),
        visible_line(member_text(change, "StatusMessage")));
  return text + section("Statuses", statuses);
}

bool has_ended(const Json& job) {
  const std::string status = member_text(job, "TrainingJobStatus");
  return status == "Completed" || status == "Failed" || status == "Stopped";
}

int exit_code_of_job(const Json& job) {
  if (member_text(job, "TrainingJobStatus") == "Completed") return exit_success;
  const std::string secondary = member_text(job, "SecondaryStatus");
  const bool timed_out = secondary == "MaxRuntimeExceeded" || secondary == "MaxWaitTimeExceeded";
  return timed_out ? exit_timed_out : exit_job_failed;
}

int hosts_of_job(const Json& job) {
  constexpr std::int64_t most = 100000;
  const Json& resources = member(job, "ResourceConfig");
  std::int64_t hosts = member_number(resources, "InstanceCount");
  for (const Json& group : member(resources, "InstanceGroups"))
    hosts = std::min(most, hosts + member_number(group, "InstanceCount"));
  return static_cast<int>(std::clamp<std::int64_t>(hosts, 1, most));
}

int processes_per_host_of(const Json& job) {
  job::RawHyperparameters raw;
  for (const auto& [name, value] : member(job, "HyperParameters").items())
    if (value.is_string()) raw[name] = value.get<std::string>();
  return job::mpi_processes_per_host(raw);
}

std::string output_place(const Json& job) {
  std::string place = member_text(member(job, "OutputDataConfig"), "S3OutputPath");
  const std::string name = member_text(job, "TrainingJobName");
  if (place.empty() || name.empty()) return {};
  while (place.ends_with('/')) place.pop_back();
  return place + "/" + name + "/output/";
}

std::string results_folder(const Json& job) {
  const std::string place = member_text(member(job, "OutputDataConfig"), "S3OutputPath");
  return place.starts_with(file_scheme) ? place.substr(file_scheme.size()) : std::string();
}

std::string results_of(const Json& job) {
  const Json& written = member(job, "MusterResults");
  return written.is_boolean() && written.get<bool>() ? results_folder(job) : std::string();
}

std::string local_job_text(const Json& job) {
  std::string text = visible_line(member_text(job, "TrainingJobName")) +
                     " is a job of sm fit on this machine, not of a server: ";
  if (!has_ended(job)) return text + "it has not ended yet; sm logs shows its output";
  const std::string results = visible_line(results_of(job));
  text += results.empty() ? "it has no results" : "its results are in " + results;
  return text + "; sm delete deletes it, with its log";
}

bool is_unpacked(const Json& job) {
  return member_text(member(job, "OutputDataConfig"), "CompressionType") == "NONE";
}

Json last_metrics(const Json& job) {
  Json values;
  for (const Json& each : member(job, "FinalMetricDataList"))
    values[member_text(each, "MetricName")] = member(each, "Value");
  return values;
}

std::string metrics_line(const Json& job) {
  const Json values = last_metrics(job);
  std::string line;
  for (const auto& [name, value] : values.items())
    line += (line.empty() ? "Metrics: " : ", ") + visible_line(name) + " " + shown_value(value);
  return line.empty() ? line : line + "\n";
}

Json to_json(const std::vector<job::MetricDefinition>& definitions) {
  Json list = Json::array();
  for (const job::MetricDefinition& each : definitions)
    list.push_back({{"Name", each.name}, {"Regex", each.expression}});
  return list;
}

std::string end_text(const Json& job, bool colour) {
  const std::string status = visible_line(member_text(job, "TrainingJobStatus"));
  if (!has_ended(job) || status == "Completed") return {};
  std::string reason = shown_lines(member_text(job, "FailureReason"), "    ");
  if (reason.empty())
    reason = exit_code_of_job(job) != exit_timed_out ? "on request"
             : member_text(job, "SecondaryStatus") == "MaxWaitTimeExceeded"
                 ? "exceeded the limit for its queue time plus run time"
                 : "exceeded its time limit";
  if (status == "Failed" || exit_code_of_job(job) == exit_timed_out)
    reason = with_topic(std::move(reason));
  const Json& cause = member(job, "MusterCause");
  const std::string hint = cause.is_object() ? std::string() : job::hint_for(reason);
  if (!hint.empty()) reason += "\n  hint: " + hint;
  const std::string text = status + ": " + reason;
  return (colour ? red + text + plain : text) + "\n" + cause_lines(cause);
}

std::string ended_line(const Json& job) {
  const std::string reason = member_text(job, "FailureReason");
  const std::string first = reason.substr(0, reason.find('\n'));
  return visible_line(member_text(job, "TrainingJobName")) + ": " + status_text(job) +
         (first.empty() ? "" : ": " + visible_line(first)) + "\n";
}

std::string end_object(const Json& job) {
  Json json{{"type", "end"},
            {"job", member_text(job, "TrainingJobName")},
            {"status", member_text(job, "TrainingJobStatus")},
            {"secondary_status", member_text(job, "SecondaryStatus")},
            {"exit_code", exit_code_of_job(job)},
            {"reason", member_text(job, "FailureReason")},
            {"training_seconds", member_number(job, "TrainingTimeInSeconds") * hosts_of_job(job)},
            {"output", Json()}};
  const std::optional<UnixMillis> end = member_time(job, "TrainingEndTime");
  const std::optional<UnixMillis> changed = member_time(job, "LastModifiedTime");
  if (end || changed) json["time"] = iso_date(end ? *end : *changed);
  const std::string model = member_text(member(job, "ModelArtifacts"), "S3ModelArtifacts");
  if (!model.empty()) json["output"] = model;
  if (const std::string folder = results_of(job); !folder.empty()) json["output"] = folder;
  const std::string_view topic = topic_name(member_text(job, "FailureReason"));
  if (!topic.empty()) json["topic"] = topic;
  if (Json metrics = last_metrics(job); !metrics.is_null()) json["metrics"] = std::move(metrics);
  return visible_json(to_text(json)) + "\n";
}

}  // namespace muster::cli
