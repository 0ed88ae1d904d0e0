#pragma once

#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/api/job_request.h"
#include "job/spec.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// From what CreateTrainingJob asked for to what the engine runs. Pure.

/// Where a job of this server finds things.
struct JobPlaces {
  std::string python;                    ///< The interpreter, absolute.
  std::vector<std::string> interpreter;  ///< Folders it needs.
  std::string path;                      ///< PATH of its hosts.
  job::Network network = job::Network::none;
  bool packages = false;            ///< The hosts need the Python packages of `sm`.
  std::vector<std::string> hidden;  ///< What hosts must not see: the server's secrets.
  job::S3Access s3;                 ///< For the stewards: the server itself or an outside S3.
  Env environment;                  ///< More for its hosts: endpoint, region, the job's key.
};

/// Refuses what cannot be run here: what the config does not know (instance types, images), what
/// muster has not (algorithms by name).
Result<void, aws::Refusal> check_request(const api::JobRequest& request, const JobConfig& config);

/// `asked` with muster's own part. Error: `invalid_input`, as job::check().
Result<job::Spec> job_spec(job::Spec asked, const JobConfig& config, const JobPlaces& places);

/// What all hosts of the job need together.
Amounts needs_of(const job::Spec& spec, const JobConfig& config);

/// What the queue knows of a job from its request. Its end is late by its run time, the grace and
/// the time that its results may take.
Demand demand_of(const std::string& name, const job::Spec& spec, const JobConfig& config);

/// Permissions of a job's own key: read its inputs, code, results and checkpoints, and write the
/// last two. The key of a remote function may read and write the folder of its function and
/// results. A channel grants what its S3Uri names as S3Prefix or as one object; the others grant
/// folders or objects of exactly that name, not all names with that prefix. Error: `invalid_input`
/// for an invalid S3 URL.
Result<access::KeyPolicy> policy_of(const job::Spec& spec);
/// The right to store the job's results, and nothing else: of muster's own key.
Result<access::KeyPolicy> results_policy_of(const job::Spec& spec);
/// How many bytes a job's key may have in S3: `asked` (0: any number), else twice what the job's
/// hosts have, 10 GiB at least.
std::uint64_t s3_budget_of(const job::Spec& spec, std::optional<std::uint64_t> asked);
/// And how many objects, open uploads and their parts.
inline constexpr std::uint64_t s3_files_max = 1'000'000;

}  // namespace muster::jobs
