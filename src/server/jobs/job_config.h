#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"
#include "image/own_image.h"
#include "job/image_wish.h"
#include "job/spec.h"
#include "server/queue/schedule.h"

namespace muster::jobs {

/// The settings for jobs: "jobs" of the config file (docs/protocols/server-config.md). Pure.
struct JobConfig {
  /// An instance type of this server. 0: no limit, and not counted.
  struct Instance {
    std::int64_t cpu_millis = 0;
    std::int64_t memory_bytes = 0;
    int gpus = 0;

    bool operator==(const Instance&) const = default;
  };
  struct Named {
    std::string pattern;  ///< The name; each '*' matches any characters.
    Instance instance;
  };
  /// An image that is this machine's own root file system with muster's toolkit in it.
  struct Image {
    std::string pattern;  ///< As above.
    std::string python;   ///< Interpreter of its jobs; empty: `python`.
  };
  std::vector<Named> instances;  ///< The first match counts; more specific names come first.
  std::vector<Image> images;     ///< In the same order.
  bool aws_images = false;       ///< AWS's own framework images are served by `python`, too.
  /// Images that jobs can use, as "registry.example.com/team/*"; none: only `images`.
  std::vector<std::string> registries;
  image::OwnNames own_images;  ///< Images that were pushed to this server; any job can use them.
  job::Pull pull = job::Pull::missing;
  std::chrono::seconds pull_limit{3600};  ///< A pull that takes longer fails, and its job.
  std::int64_t image_store_bytes = 0;  ///< Images beyond it are removed after a pull; 0: no limit.
  /// A login that jobs select for their image with TrainingRepositoryCredentialsProviderArn.
  struct CredentialsProvider {
    std::vector<std::string> registries;  ///< "reg.lab:5000": registries that get the login.
    std::string logins;                   ///< As `registry_logins`.
  };
  std::map<std::string, CredentialsProvider> credentials_providers;  ///< By ARN.
  std::string image_policy;     ///< A policy.json for images; empty: all are accepted.
  std::string registry_logins;  ///< A file like ~/.docker/config.json; empty: no login.
  std::string python = "python3";
  std::chrono::seconds stop_grace{120};  ///< Between SIGTERM and SIGKILL; as long as SageMaker's.
  std::chrono::seconds hang_after{0};    ///< As Spec::hang_after, for jobs that do not set it.
  bool end_hung = false;                 ///< As Spec::end_hung.
  bool native_drivers = false;           ///< Start scripts that SDK 3 uploads run unchanged.
  /// The quota of each job's key in S3; 0: no limit; none: see s3_budget_of().
  std::optional<std::uint64_t> s3_budget_bytes;
  job::Network network = job::Network::nat;  ///< `none`: even if a job requests more.
  std::optional<bool> any_vpc;               ///< Ids of networks that there are not are taken,
                                             ///< without effect; none: where there are no networks.
  Env environment;       ///< Variables for all hosts; a job's and the server's own override them.
  std::string pip_conf;  ///< A pip configuration file for the hosts of all jobs; or empty.
  std::optional<std::int64_t> first_user_id;  ///< The first user id of jobs, 65,536 for each.
  Amounts capacity;                           ///< As server/queue/schedule.h names them.
  Notes notes;                                ///< On `capacity`: which GPUs no job gets, and why.
  int machine_gpus = 0;                       ///< See count_in_gpus().
  std::optional<std::int64_t> gpus_max{};     ///< The config's own limit; see count_in_gpus().
  bool uses_sick_gpus = false;                ///< Jobs also get GPUs that their driver calls unfit.
  struct PriorityMax {
    std::string pattern;  ///< Access keys' ids, as above.
    int most = 0;
  };
  std::vector<PriorityMax> priority_max;  ///< More specific ones first.
  std::size_t waiting_max = 10'000;       ///< Maximum number of waiting jobs per access key.
  bool larger_alone = false;              ///< A job above `capacity` runs alone; else refused.

  /// None if the config does not know it. "local", which `sm submit` asks for, and a type of AWS's
  /// have no limits where it does not name them; "local_gpu", as SageMaker's SDK calls it, has all
  /// of the machine's GPUs.
  std::optional<Instance> instance(const std::string& type) const;
  /// The listed types and "local", for a message: "local, ml.small".
  std::string known_types() const;
  /// The highest priority that an access key can give to a job: 9 if no pattern matches.
  int priority_max_of(const std::string& key, const std::vector<std::string>& makers = {}) const;
  /// The interpreter's name or path; none if the image is not available.
  std::optional<std::string> python_of(const std::string& image) const;
};

/// Without a config: any instance type without limits, `host` and AWS's own framework images.
/// Without a capacity in it as many hosts at a time as twice the machine's `processors` (0: any
/// number), a larger job alone. Error: `invalid_input`, naming the key and the expected value; also
/// for unknown keys.
Result<JobConfig> job_config_from(const Json& json, int processors = 0);

/// Error: `invalid_input` if the config gives jobs more GPUs than exist; errors of `count`, which
/// counts them and is called only if the config gives any.
Result<void> check_gpus(const JobConfig& config, const std::function<Result<int>()>& count);

/// Sets the number of GPUs that jobs can get: the GPUs of "local_gpu", and the limit for all jobs
/// together unless the config has a lower one. `unfit`: a line for each of the machine's other
/// GPUs. Each call replaces the numbers of the one before.
void count_in_gpus(JobConfig& config, int gpus, const std::vector<std::string>& unfit = {});

/// The machine's GPUs that jobs can get, and a line for each other one.
struct FitGpus {
  int count = 0;
  std::vector<std::string> unfit{};
};

/// A line for each interpreter path in the config at which `is_program` finds no program. It may be
/// installed later; until then, jobs that use it fail.
std::vector<std::string> missing_interpreters(
    const JobConfig& config, const std::function<bool(const std::string&)>& is_program);

/// True for a name in the form of AWS's instance types: "ml.p3.16xlarge". Source of the sizes:
/// CreateTrainingJob's TrainingInstanceType.
bool is_aws_type(std::string_view type);
/// True for those of AWS's types whose machines have GPUs: the families g… and p….
bool is_aws_gpu_type(std::string_view type);

}  // namespace muster::jobs
