#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/command.h"
#include "base/files/swept.h"
#include "base/json.h"
#include "engine/engine.h"
#include "job/image_wish.h"
#include "platform/interpreter.h"
#include "platform/places/images.h"
#include "platform/places/slurm_cluster.h"

namespace muster::cluster {
class KeptNodes;
class SlurmEngine;
}  // namespace muster::cluster

namespace muster::local {
class LocalEngine;
}

namespace muster::supervise {
class Programs;
}

namespace muster::places {

/// The health of the machine's cards, for people.
struct GpuHealth {
  int gpus = 0;                            ///< All of them.
  int unfit = 0;                           ///< GPUs that no job gets.
  std::vector<std::string> unfit_lines{};  ///< "nvidia.com/gpu=0 needs recovery: Reset"
  std::vector<std::string> remarks{};
  std::string unknown{};  ///< Why nothing is known; empty: it is, or the machine has no GPUs.
};

/// Places for jobs, seen from this machine: the one room that knows which engine it is. One exists
/// in a process.
class Machine {
 public:
  struct Options {
    std::string program = "/proc/self/exe";       ///< `sm`.
    bool outlived = false;                        ///< Jobs go on without us, for resume_job().
    std::optional<std::int64_t> first_user_id{};  ///< See local::LocalEngine::Options::id_base.
    /// The state folder of this process's user, with images and preflights' records; empty: that
    /// of jobs.
    std::string own_state{};
    std::optional<SlurmCluster> slurm{};  ///< Jobs run there; none: on this machine.
  };
  /// `env`: PATH finds programs, MUSTER_STATE the folder of this machine's jobs
  /// (see muster::state_folder()).
  Machine(loop::Loop& loop, const Env& env, const Options& options);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  engine::Engine& engine();
  /// See local::LocalEngine::sweep(): of jobs of this machine.
  loop::Task<Result<Swept>> sweep(bool kept_too);
  /// See cluster::sweep(): of jobs on a Slurm cluster. Asks Slurm where there are some.
  loop::Task<Swept> sweep_cluster(bool kept_too);
  /// See find_interpreter().
  loop::Task<Result<platform::Interpreter>> interpreter(std::string python);
  /// See bring_image().
  loop::Task<Result<UsedImage>> image(job::ImageWish wish, std::function<void()> on_pull);
  /// Asks the driver's tool, as the function of this name below, without blocking.
  loop::Task<GpuHealth> gpu_health();
  /// See local::LocalEngine::clear_halves().
  void clear_halves();
  /// MusterSlurm of the job's description (docs/protocols/job-record.md); null: it is not on Slurm.
  Json in_slurm(const std::string& job) const;
  /// At most `nodes_max` of the cluster's nodes, as slurm::nodes_page() and cluster::KeptNodes,
  /// with what the last preflights led by this process's user found;
  /// {"Error": TEXT} if they are unknown; null: jobs do not run on a cluster.
  loop::Task<Json> nodes();
  static constexpr std::size_t nodes_max = 200;

 private:
  Env env_;
  std::string program_;
  std::string own_state_;
  std::unique_ptr<supervise::Programs> programs_;
  std::unique_ptr<local::LocalEngine> engine_;
  std::unique_ptr<cluster::SlurmEngine> cluster_;  ///< In its place, where there is one.
  std::unique_ptr<cluster::KeptNodes> nodes_;      ///< The cluster's nodes.
};

/// See engine/local/outside_check.h.
std::string why_no_outside(const Env& env);

/// Processes of this machine that each own a host of a job of `sm fit`, by host.
std::map<std::string, pid_t> stewards_of(const std::string& state, const std::string& job);

/// GPUs that hosts can be given. Errors: devices::find_gpus()'s.
Result<int> count_gpus(const Env& env);
/// Asks the driver's tool, which takes a moment. Blocks.
GpuHealth gpu_health(const Env& env);

/// What else a machine with GPUs knows about their health, for people.
struct GpuSurroundings {
  std::vector<std::string> remarks{};  ///< On network adapters, and past errors of GPUs.
  std::string kernel_log{};            ///< Why the kernel's log cannot be read; empty: it can.
};
/// Reads the kernel's log. Blocks.
GpuSurroundings gpu_surroundings(const Env& env);

}  // namespace muster::places
