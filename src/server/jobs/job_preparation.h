#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aws/api/job_request.h"
#include "job/vpc/networks.h"
#include "net/loop/loop.h"
#include "platform/interpreter.h"
#include "server/jobs/job_config.h"
#include "server/jobs/job_keys.h"
#include "server/jobs/job_spec.h"
#include "server/jobs/outside_s3.h"

namespace muster::jobs {

/// What of its image the machine does not have, out of a prepared job's notes; empty: nothing.
std::string lack_in(const std::vector<std::string>& notes);

/// From a stored job to what the engine runs: the interpreter of its image, its way to S3, its key.
/// Begins the note of a job whose hosts reach nothing outside.
inline constexpr std::string_view no_network_note = "network: none";

class JobPreparation {
 public:
  struct Options {
    JobConfig config;
    std::string endpoint;  ///< Where stewards and hosts reach this server.
    std::string ca_file;   ///< Whom hosts trust that call S3; empty: no TLS.
    std::string region;
    std::vector<std::string> hidden;  ///< What hosts must not see.
    Env env;                          ///< PATH finds programs.
    std::optional<OutsideS3> s3;      ///< None: the server's own, at `endpoint`.
    /// Finds a Python by its name or path.
    std::function<loop::Task<Result<platform::Interpreter>>(std::string python)> interpreter;
    /// Why jobs of this machine reach nothing outside of it; empty if they do.
    std::function<std::string()> no_outside;
    /// What VpcConfig may name now; none: nothing.
    std::function<vpc::Networks()> networks;
    /// A small object of S3. Error: `not_found`, `system`.
    std::function<loop::Task<Result<std::string>>(s3wire::S3Url url)> read_object;
    ReadManifest read_manifest{};  ///< None with an outside S3, which knows no keys of jobs.
  };
  /// `keys` outlives this.
  JobPreparation(JobKeys& keys, Options options) : keys_(keys), options_(std::move(options)) {}

  /// If the job runs its own image, the spec lacks that image: it may have to be pulled. Errors:
  /// `invalid_input` (also for an image that the config no longer lists), `not_found` (a Python),
  /// `system`.
  loop::Task<Result<job::Spec>> prepare(store::Job job, api::JobRequest request);

 private:
  loop::Task<Result<void>> give_python(api::JobRequest& request, std::string python,
                                       JobPlaces& places) const;
  loop::Task<> replace_drivers(job::Spec& spec) const;
  void give_network(api::JobRequest& request, JobPlaces& places) const;
  Result<void> give_vpc(api::JobRequest& request) const;
  Result<void> give_own_s3(const store::Job& job, const api::JobRequest& request,
                           JobPlaces& places);
  Result<void> give_outside_s3(JobPlaces& places) const;

  JobKeys& keys_;
  Options options_;
};

}  // namespace muster::jobs
