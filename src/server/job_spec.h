#pragma once

#include <string>
#include <vector>

#include "job/spec.h"
#include "server/call.h"
#include "server/job_config.h"

namespace muster::server {

// From CreateTrainingJob's input, which passed validation, to what the engine runs. Pure.

/// Where a job of this server finds things.
struct JobPlaces {
  std::string python;                    ///< The interpreter, absolute.
  std::vector<std::string> interpreter;  ///< Folders it needs.
  std::string path;                      ///< PATH of its hosts.
  std::vector<std::string> hidden;       ///< What hosts must not see: the server's secrets.
  job::S3Access s3;                      ///< For the stewards: the server itself or an outside S3.
  Env environment;                       ///< More for its hosts: endpoint, region, the job's key.
};

/// Why the job cannot be run here; none if it can. What the config does not know: instance types,
/// images. What muster has not: Pipe and FastFile mode, file systems, algorithms by name.
std::optional<Refusal> refused(const Json& request, const JobConfig& config);

/// The job's TrainingImage; empty for none.
std::string image_of(const Json& request);

/// Error: `invalid_input`, as job::check().
Result<job::Spec> job_spec(const Json& request, const JobConfig& config, const JobPlaces& places);

/// What all hosts of the job need together.
Amounts needs_of(const Json& request, const JobConfig& config);

/// What a job's own key may read and write: its inputs, outputs and checkpoints. JSON, as
/// Store's keys hold it.
struct JobReach {
  std::vector<std::string> reads;  ///< s3:// URLs; of folders with a '/' at their end.
  std::vector<std::string> writes;
};
JobReach reach_of(const Json& request);

}  // namespace muster::server
