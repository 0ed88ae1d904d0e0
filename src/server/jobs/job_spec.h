#pragma once

#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/api/job_request.h"
#include "job/spec.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// Turns a CreateTrainingJob request into a spec for the engine. Pure.

/// Places and settings for a job of this server.
struct JobPlaces {
  std::string python;                    ///< The interpreter, absolute.
  std::vector<std::string> interpreter;  ///< The folders that it needs.
  std::string path;                      ///< PATH of its hosts.
  job::Network network = job::Network::none;
  bool packages = false;            ///< The hosts need the Python packages of `sm`.
  std::vector<std::string> hidden;  ///< Paths that hosts must not see: the server's secrets.
  job::S3Access s3;                 ///< For the stewards: the server itself or an outside S3.
  Env environment;  ///< More variables for its hosts: endpoint, region, the job's key.
};

/// Rejects requests that cannot run here: instance types and images that are not in the config, and
/// algorithms by name, which muster does not support.
Result<void, aws::Refusal> check_request(const api::JobRequest& request, const JobConfig& config);

/// `asked`, completed with muster's own part. Error: `invalid_input`, as job::check().
Result<job::Spec> job_spec(job::Spec asked, const JobConfig& config, const JobPlaces& places);

/// "hosts of type ml.p3.2xlarge get no GPU, because …", of a job_spec() with types that have GPUs
/// at AWS, but not here; empty for any other. For the job's log and its status message.
std::string no_gpu_note(const job::Spec& spec);

/// The needs of all hosts of the job together.
Amounts needs_of(const job::Spec& spec, const JobConfig& config);

/// A job's data for the queue, from its request. Its latest end includes its run time, the grace
/// and the time for its results.
Demand demand_of(const std::string& name, const job::Spec& spec, const JobConfig& config);

/// Permissions of a job's own key: read its inputs, code, results and checkpoints, and write the
/// last two. The key of a remote function may read and write the folder of its function and
/// results. A channel grants what its S3Uri names as S3Prefix or as one object; the others grant
/// folders or objects of exactly that name, not all names with that prefix. Error: `invalid_input`
/// for an invalid S3 URL.
Result<access::KeyPolicy> policy_of(const job::Spec& spec);
/// The right to store the job's results, and nothing else: of muster's own key.
Result<access::KeyPolicy> results_policy_of(const job::Spec& spec);
/// The quota of a job's key in S3, in bytes: `asked` (0: no limit), otherwise twice the disk size
/// of the job's hosts, at least 10 GiB.
std::uint64_t s3_budget_of(const job::Spec& spec, std::optional<std::uint64_t> asked);
/// The quota in objects, open uploads and their parts.
inline constexpr std::uint64_t s3_files_max = 1'000'000;

}  // namespace muster::jobs
