#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/process/private_folders.h"
#include "engine/cluster/attempt.h"
#include "engine/cluster/delivery.h"
#include "engine/cluster/slurm.h"
#include "engine/engine.h"
#include "engine/linked/links.h"
#include "job/wire/node_messages.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cluster {

class ClusterJob;

/// A training job as Slurm has it, for people.
struct InSlurm {
  std::string id{};                    ///< The Slurm job of the present attempt.
  std::string name{};                  ///< The full name of that Slurm job.
  std::string nodes{};                 ///< "node[1-2]"; empty while it waits.
  std::string reason{};                ///< Slurm's word for why it waits; may be empty.
  std::vector<std::string> earlier{};  ///< Slurm jobs of earlier attempts, the first one first.
};

/// Jobs on a Slurm cluster, from a machine with Slurm's commands: one sbatch job a training job,
/// one steward a node (docs/decisions/0047-slurm.md).
class SlurmEngine final : public engine::Engine {
 public:
  struct Options {
    std::string state;                       ///< Absolute; jobs are in <state>/slurm/jobs.
    std::string program = "/proc/self/exe";  ///< `sm`.
    std::string node_program{};              ///< `sm` on the nodes, absolute; empty: it is brought.
    std::string node_folder = "/var/cache/muster";  ///< Where nodes keep images; absolute.
    std::string shared{};  ///< A folder that nodes have at the same path; empty: none.
    std::vector<std::string> addresses{};  ///< For nodes to reach this machine; none: all it has.
    std::uint16_t port = 0;                ///< Where stewards call; 0: a free one.
    slurm::Site site{};
    std::map<std::string, slurm::Site> sites{};  ///< By instance type, in place of `site`.
    std::string folder_register = private_folder_register;
    bool lifeline = true;  ///< Jobs end with us, however we end, within a minute or so.
    Env env{};             ///< Slurm's commands' and the upload's.
    Attempt::Times times{};
    /// Called instead of Links::open(), for tests.
    std::function<Result<std::unique_ptr<Links>>(std::uint16_t port)> open_links{};
    Duration look_each = std::chrono::seconds(5);      ///< While a job waits or ends,
    Duration look_seldom = std::chrono::minutes(1);    ///< and while it runs.
    Duration settings_hold = std::chrono::minutes(5);  ///< For what the cluster says of itself.
  };
  /// `programs` outlives this and the runs.
  SlurmEngine(supervise::Programs& programs, Options options);
  ~SlurmEngine() override;

  loop::Task<Result<std::unique_ptr<engine::Run>>> start(job::Spec spec) override;
  loop::Task<Result<std::unique_ptr<engine::Run>>> attach(std::string job) override;
  std::vector<std::string> list() const override;
  std::string journal_file(const std::string& job, const std::string& host) const override;
  bool schedules() const override { return true; }
  /// None for a job that this engine does not know, or that was not submitted yet.
  std::optional<InSlurm> in_slurm(const std::string& job) const;

  // For its jobs.
  const Options& options() const { return options_; }
  loop::Loop& loop() { return slurm_.programs().loop(); }
  Slurm& slurm() { return slurm_; }
  /// The port that stewards of newly started jobs connect to.
  Result<std::uint16_t> port();
  Result<Links*> links(std::uint16_t port);
  const slurm::Site& site(const job::Spec& spec) const;
  /// How many spare nodes the job gets.
  int spares(const job::Spec& spec) const;
  /// What Slurm is asked for, without the values of an attempt.
  slurm::Submission wish(const job::Spec& spec) const;
  /// The order to a node, without the values of the attempt.
  Result<job::NodeJob> order(const job::Spec& spec, const slurm::Submission& submission) const;
  /// Asks for the cluster's KillWait, which orders hold from then on, and for the partition's
  /// GraceTime, unless that was answered within the last minutes.
  loop::Task<> learn_graces(std::string partition);
  /// The GraceTime, as far as it is known.
  std::chrono::milliseconds preempt_grace(const std::string& partition) const;
  /// Where the attempt's hosts meet, chosen by its nonce.
  static int rollcall_port(const std::string& nonce);
  /// Makes the engine query Slurm soon.
  void look(ClusterJob& job);
  void forget(const std::string& job);

 private:
  loop::Task<Result<void>> pack(ClusterJob& job, std::vector<Brought> folders);
  std::string root() const { return options_.state + "/slurm"; }
  Result<std::unique_ptr<Links>> open_links(std::uint16_t port);
  loop::Task<> ask();
  void plan_look();

  Options options_;
  Slurm slurm_;
  std::map<std::uint16_t, std::unique_ptr<Links>> links_;
  std::uint16_t port_ = 0;
  /// The values from the last query to the cluster, and until when they need not be queried again.
  struct Known {
    std::chrono::seconds time;
    TimePoint until;
  };
  std::optional<Known> kill_wait_;
  std::map<std::string, Known> grace_times_;  ///< By partition.
  std::map<std::string, std::shared_ptr<ClusterJob>> jobs_;
  TimePoint look_at_ = TimePoint::max();
  loop::Event look_sooner_;
  loop::Tasks tasks_;
};

}  // namespace muster::cluster
