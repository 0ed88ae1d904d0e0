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

/// What jobs may ask this server for: "jobs" of its config file (docs/protocols/server-config.md).
/// Pure.
struct JobConfig {
  /// An instance type as this server gives it. 0: no limit, none counted.
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
  std::vector<Named> instances;  ///< The first that fits counts; most exact ones come first.
  std::vector<Image> images;     ///< In the same order.
  bool aws_images = false;       ///< AWS's own framework images are served by `python`, too.
  /// Images that jobs may name, as "registry.example.com/team/*"; none: no others than `images`.
  std::vector<std::string> registries;
  image::OwnNames own_images;  ///< What was pushed to this server; any job may name it.
  job::Pull pull = job::Pull::missing;
  std::chrono::seconds pull_limit{3600};  ///< A pull that takes longer fails, and its job.
  std::int64_t image_store_bytes = 0;     ///< Images beyond it go after a pull; 0: no limit.
  /// A login that jobs name for their image, in TrainingRepositoryCredentialsProviderArn.
  struct CredentialsProvider {
    std::vector<std::string> registries;  ///< "reg.lab:5000": whom the login is shown to.
    std::string logins;                   ///< As `registry_logins`.
  };
  std::map<std::string, CredentialsProvider> credentials_providers;  ///< By ARN.
  std::string image_policy;     ///< A policy.json for images; empty: all are taken.
  std::string registry_logins;  ///< A file like ~/.docker/config.json; empty: no login.
  std::string python = "python3";
  std::chrono::seconds stop_grace{120};  ///< Between SIGTERM and SIGKILL; as long as SageMaker's.
  std::chrono::seconds hang_after{0};    ///< As Spec::hang_after, of jobs that do not say.
  bool end_hung = false;                 ///< As Spec::end_hung.
  bool native_drivers = false;           ///< What SDK 3 uploads to start scripts runs as it is.
  /// What each job's key may have in S3; 0: any number; none: as s3_budget_of() says.
  std::optional<std::uint64_t> s3_budget_bytes;
  job::Network network = job::Network::nat;  ///< `none`: whatever a job asks for.
  std::optional<bool> any_vpc;               ///< Ids of networks that there are not are taken,
                                             ///< without effect; none: where there are no networks.
  Env environment;                           ///< Variables of all hosts; a job and the server win.
  std::string pip_conf;  ///< A file that hosts of all jobs have as pip's configuration; or empty.
  std::optional<std::int64_t> first_user_id;  ///< Where the user ids of jobs begin, 65,536 each.
  Amounts capacity;                           ///< As server/queue/schedule.h names them.
  int machine_gpus = 0;                       ///< See count_in_gpus().
  struct PriorityMax {
    std::string pattern;  ///< Access keys' ids, as above.
    int most = 0;
  };
  std::vector<PriorityMax> priority_max;  ///< Most exact ones first.
  std::size_t waiting_max = 10'000;       ///< Jobs of an access key that wait at a time.
  bool larger_alone = false;  ///< A job beyond `capacity` runs alone; else it is refused.

  /// None if the config does not know it. "local", which `sm submit` asks for, and a type of AWS's
  /// have no limits where it does not name them; "local_gpu", as SageMaker's SDK calls it, has all
  /// of the machine's GPUs.
  std::optional<Instance> instance(const std::string& type) const;
  /// The types that it names and "local", for a message: "local, ml.small".
  std::string known_types() const;
  /// The highest priority that an access key may give to a job: 9 where nothing fits it.
  int priority_max_of(const std::string& key, const std::vector<std::string>& makers = {}) const;
  /// The interpreter's name or path; none if the image is not served.
  std::optional<std::string> python_of(const std::string& image) const;
};

/// Without a config: any instance type without limits, `host` and AWS's own framework images.
/// Without a capacity in it as many hosts at a time as twice the machine's `processors` (0: any
/// number), a larger job alone.
/// Error: `invalid_input`, naming the key and what was expected; unknown keys too.
Result<JobConfig> job_config_from(const Json& json, int processors = 0);

/// Error: `invalid_input`, where the config gives jobs more GPUs than there are (`count` counts
/// them, and is asked only if it gives any; its errors are this one's).
Result<void> check_gpus(const JobConfig& config, const std::function<Result<int>()>& count);

/// The machine has so many: what "local_gpu" is, and a limit of all jobs together, unless the
/// config says one.
void count_in_gpus(JobConfig& config, int gpus);

/// A line for each interpreter that the config names by a path where `is_program` finds none: it
/// may come yet, but till then jobs fail.
std::vector<std::string> missing_interpreters(
    const JobConfig& config, const std::function<bool(const std::string&)>& is_program);

/// True for a name of the form that AWS gives its instance types: "ml.p3.16xlarge". Source of the
/// sizes: CreateTrainingJob's TrainingInstanceType.
bool is_aws_type(std::string_view type);

}  // namespace muster::jobs
