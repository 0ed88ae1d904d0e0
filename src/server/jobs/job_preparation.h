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

/// The parts of its image that the machine lacks, from a prepared job's notes; empty: none.
std::string lack_in(const std::vector<std::string>& notes);

/// Turns a stored job into a spec for the engine: the interpreter of its image, its access to S3,
/// its key. The start of the note of a job whose hosts have no outside network.
inline constexpr std::string_view no_network_note = "network: none";

class JobPreparation {
 public:
  struct Options {
    JobConfig config;
    std::string endpoint;  ///< URL of this server for stewards and hosts.
    std::string ca_file;   ///< CA certificates for hosts that call S3; empty: no TLS.
    std::string region;
    std::vector<std::string> hidden;  ///< Paths that hosts must not see.
    Env env;                          ///< PATH finds programs.
    std::optional<OutsideS3> s3;      ///< None: the server's own, at `endpoint`.
    /// Finds a Python by its name or path.
    std::function<loop::Task<Result<platform::Interpreter>>(std::string python)> interpreter;
    /// The reason why jobs on this machine have no outside network; empty if they have one.
    std::function<std::string()> no_outside;
    /// The networks that VpcConfig can use now; none: no networks.
    std::function<vpc::Networks()> networks;
    /// Reads a small object from S3. Error: `not_found`, `system`.
    std::function<loop::Task<Result<std::string>>(s3wire::S3Url url)> read_object;
    ReadManifest read_manifest{};  ///< None with an outside S3, which does not know jobs' keys.
  };
  /// Both outlive this.
  JobPreparation(JobKeys& keys, const Options& options) : keys_(keys), options_(options) {}

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
  const Options& options_;
};

}  // namespace muster::jobs
