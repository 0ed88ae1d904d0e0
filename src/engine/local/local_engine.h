#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/files/swept.h"
#include "base/process/private_folders.h"
#include "engine/engine.h"
#include "engine/local/job_network.h"
#include "job/host_spec.h"
#include "os/devices/assign.h"
#include "os/devices/card_health.h"
#include "os/devices/find.h"
#include "os/devices/gpu_meter.h"
#include "os/devices/mig.h"
#include "os/devices/topology.h"
#include "os/supervise/programs.h"

namespace muster::local {

/// Jobs on this machine: a steward process for each host. Places: docs/protocols/job-folder.md.
class LocalEngine final : public engine::Engine {
 public:
  struct Options {
    std::string state;                                     ///< Absolute.
    std::string program = "/proc/self/exe";                ///< `sm`.
    std::string network_register = "/run/muster/subnets";  ///< See network.h.
    std::string gpu_register = "/run/muster/gpus";         ///< See gpu_register.h.
    devices::Places devices;  ///< Where the machine says which GPUs it has.
    std::string folder_register = private_folder_register;
    std::string routes = "/proc/net/route";
    /// Where the user ids of jobs begin on the machine, 65,536 for each. The default lies beyond
    /// those that distributions, /etc/subuid and systemd's containers hand out
    /// (docs/decisions/0023-user-namespace.md).
    std::int64_t id_base = 1879048192;
    Env env;               ///< The stewards'; PATH finds the runtime.
    bool lifeline = true;  ///< Jobs end with us, however we end.
    /// A host whose steward is killed counts as lost, if the job may have another attempt, as on a
    /// cluster (docs/decisions/0064-rehearsals.md). Otherwise, its steward has ended.
    bool rehearses = false;
  };
  /// `programs` outlives this and the runs.
  LocalEngine(supervise::Programs& programs, Options options);

  loop::Task<Result<std::unique_ptr<engine::Run>>> start(job::Spec spec) override;
  loop::Task<Result<std::unique_ptr<engine::Run>>> attach(std::string job) override;
  std::vector<std::string> list() const override;
  std::string journal_file(const std::string& job, const std::string& host) const override;
  bool schedules() const override { return false; }
  /// Removes jobs that are only partly created or partly removed. Only for the one process that
  /// creates jobs here.
  void clear_halves();
  /// Removes leftovers of dead jobs on the machine; with `kept_too` also kept folders. Returns
  /// lines that list what was removed. Takes a few ms if there is nothing to do.
  loop::Task<Result<Swept>> sweep(bool kept_too);
  /// Removes what the hosts of one of our jobs left, except journals, results and specifications.
  /// All its hosts must have ended.
  loop::Task<Result<void>> clear(const std::string& job);

  const Options& options() const { return options_; }
  /// One for all runs; it is destroyed with the last run that holds it.
  std::shared_ptr<devices::GpuMeter> gpu_meter();

 private:
  /// What the machine's own programs report about its GPUs, if they are installed.
  struct GpuAnswers {
    devices::Topology topology;
    std::string library_cache;            ///< What `ldconfig -p` prints.
    std::vector<devices::MigName> parts;  ///< Parts of cards, as the driver's tool calls them.
    std::vector<devices::CardHealth> cards;
    std::string health_trouble;  ///< Why the cards' health is unknown, where a tool should tell.
  };
  loop::Task<GpuAnswers> ask_of_gpus();
  loop::Task<> ask_places(GpuAnswers& answers);
  loop::Task<> ask_health(GpuAnswers& answers);
  loop::Task<> ask_parts(GpuAnswers& answers);
  std::vector<devices::Holding> unfit_gpus(const std::vector<devices::Gpu>& gpus,
                                           const GpuAnswers& answers,
                                           std::vector<std::string>& notes) const;
  loop::Task<std::string> answer_of(Args argv);
  Result<std::unique_ptr<engine::Run>> start_now(const job::Spec& spec, const GpuAnswers& answers);
  Result<void> give_gpus(std::vector<job::HostSpec>& hosts, const std::string& path,
                         const GpuAnswers& answers);
  Result<std::unique_ptr<engine::Run>> attach_now(const std::string& job);
  loop::Task<Result<Swept>> ask_steward(Args words);
  std::string jobs_folder() const { return options_.state + "/jobs"; }

  supervise::Programs& programs_;
  Options options_;
  std::weak_ptr<devices::GpuMeter> gpu_meter_;
};

/// The specifications of all hosts of a job. Pure.
std::vector<job::HostSpec> host_specs(const job::Spec& spec, const std::string& state,
                                      const std::string& job_folder, const std::string& key_file,
                                      const Network& network);

/// The specification that the steward of the host in this folder was given. Errors: of reading the
/// file; `invalid_input`.
Result<job::HostSpec> given_to(const std::string& host_folder);

}  // namespace muster::local
