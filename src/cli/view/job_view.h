#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/metric_definitions.h"

namespace muster::cli {

/// A job as SageMaker's API describes it, for people. Pure: reads responses that may lack any
/// member. A server's texts are printed without control characters (visible_line()).

/// ListTrainingJobs' summaries as a table with a header; "no jobs" if there are none. `now`: to
/// compute how long running jobs have been running. If jobs of this machine or of a Slurm cluster
/// are among them, a last column WHERE marks them; below the table are Slurm's commands for the
/// jobs that have not ended.
std::string jobs_table(const Json& summaries, UnixMillis now, bool colour);
/// DescribeTrainingJob's response.
std::string job_text(const Json& job, bool colour);

/// Completed, Failed or Stopped: it will not change any more.
bool has_ended(const Json& job);
/// 0, 1 or 4 as for `sm fit`; a job that was stopped counts as failed.
int exit_code_of_job(const Json& job);
/// Number of its hosts, at least 1.
int hosts_of_job(const Json& job);
/// MPI processes per host; 0: the hyperparameters don't enable MPI.
int processes_per_host_of(const Json& job);

/// The place of its results, "s3://bucket/folder/JOB/output/"; empty if the description lacks it.
/// Source: OutputDataConfig of the CreateTrainingJob API.
std::string output_place(const Json& job);
/// For a job of this machine where a server's job is required: its owner, the place of its results,
/// and the command that deletes it.
std::string local_job_text(const Json& job);

/// The output folder of a job of this machine; empty for a server's.
std::string results_folder(const Json& job);
/// The output folder, if the job put anything into it.
std::string results_of(const Json& job);

/// True if the results are single files, false if they are archives. Source: CompressionType of the
/// same API.
bool is_unpacked(const Json& job);

/// "Metrics: accuracy 0.93, loss 0.21\n", the last values of its FinalMetricDataList; empty: none.
std::string metrics_line(const Json& job);
/// The values by name; null if there are none.
Json last_metrics(const Json& job);
/// MetricDefinitions, as the API has them.
Json to_json(const std::vector<job::MetricDefinition>& definitions);

/// "Failed: why" for a job that did not complete; else empty.
std::string end_text(const Json& job, bool colour);
/// "NAME: Completed\n", "NAME: Failed: why\n": the reason's first line.
std::string ended_line(const Json& job);
/// The last object of --json, with its newline: docs/protocols/fit-json.md.
std::string end_object(const Json& job);

/// The time at `name`, from epoch seconds.
std::optional<UnixMillis> member_time(const Json& json, std::string_view name);

}  // namespace muster::cli
