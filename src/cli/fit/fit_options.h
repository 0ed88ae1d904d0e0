#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/command.h"
#include "cli/fit/launch_choice.h"
#include "cli/values.h"
#include "command/line.h"
#include "job/limits.h"
#include "job/spec.h"
#include "platform/places/machine.h"

namespace muster::cli {

/// One `--bind`, as it was given.
struct BindWish {
  std::string outside;
  std::string inside;  ///< Empty: as outside.
  bool writable = false;

  bool operator==(const BindWish&) const = default;
};

/// Options of `sm fit`. Paths as the user wrote them.
struct FitOptions {
  std::string script;         ///< Empty: what `image` runs.
  std::string image;          ///< Empty: hosts see this machine's programs.
  std::string policy;         ///< A policy.json that `image` has to satisfy; empty: none.
  std::string source_folder;  ///< Empty: the script's own.
  int hosts = 1;
  LaunchChoice launch;
  Pairs inputs;  ///< Channel, folder.
  std::vector<BindWish> bound;
  Hyperparameters hyperparameters;
  Pairs environment;
  std::vector<job::MetricDefinition> metrics;
  std::string output;                  ///< Empty: a folder named as the job, if it leaves any file.
  std::string checkpoints;             ///< Empty: none are kept.
  std::string name;                    ///< Empty: made from the script's name and the time.
  std::string python;                  ///< Empty: `python3` of PATH.
  std::string pip_conf;                ///< Empty: what PIP_CONFIG_FILE names.
  int retries = job::retries_default;  ///< After nodes of a cluster were lost.
  int spares = 0;                      ///< Standby nodes that can replace lost ones.
  bool preflight = false;              ///< A full one.
  std::chrono::seconds timeout{86400};
  std::chrono::milliseconds max_wait{0};    ///< Whole seconds; 0: no limit.
  std::chrono::milliseconds hang_after{0};  ///< Whole seconds; 0: never asked.
  bool end_hung = false;
  std::chrono::milliseconds grace = job::stop_grace_default;
  std::int64_t memory_bytes = 0;  ///< Each host's limit; 0: none.
  std::int64_t cpu_millis = 0;    ///< Each host's; 0: no limit.
  int gpus = 0;                   ///< Each host's own.
  std::int64_t volume_gib = 0;    ///< Each host's on disk; 0: no limit.
  bool near_gpus = true;          ///< Hosts run next to their GPUs, where they can.
  std::int64_t shm_bytes = 0;     ///< 0: the default.
  job::Network network = job::Network::nat;
  bool encrypted = false;  ///< EnableInterContainerTrafficEncryption.
  bool overwrite = false;
  bool keep = false;
  std::optional<places::SlurmCluster> slurm{};  ///< None: hosts are on this machine.
  bool detach = false;                          ///< The job continues without a terminal.
  bool utc = false;
  bool json = false;
  bool raw = false;
  bool verbose = false;
  bool timeline = false;  ///< Printed at the job's end.
  bool print_plan = false;
  bool print_file = false;
  Args arguments;    ///< Behind `--`: the script's own.
  Args kept_line{};  ///< What the job's record keeps of the command line, for `sm rerun`.
};

/// What a line asks for, or why it is not run.
using FitLine = std::variant<FitOptions, command::Stop>;
/// Reads the files of --env-file and --hyperparameters, and nothing else.
FitLine fit_options(const Args& args);

/// What `--engine` and each `--slurm` ask for; none: this machine. Pure. Error: `invalid_input`.
Result<std::optional<places::SlurmCluster>> slurm_of(const std::string& engine,
                                                     const std::vector<std::string>& settings);

/// How hyperparameters are sent: values that command::is_typed() accepts as they are, all others as
/// JSON strings, so that text arrives byte for byte. Pure. All are UTF-8. Source: the SageMaker
/// Python SDK sends every value JSON-encoded.
std::map<std::string, std::string> encoded(const Hyperparameters& hyperparameters);

}  // namespace muster::cli
