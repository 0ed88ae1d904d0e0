#pragma once

// Inside cluster/ only.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/cluster/attempt.h"
#include "engine/cluster/delivery.h"
#include "engine/cluster/notes.h"
#include "engine/cluster/shared_folder.h"
#include "engine/cluster/slurm.h"
#include "engine/cluster/slurm_engine.h"
#include "engine/cluster/swap.h"
#include "engine/job_folder.h"
#include "engine/linked/links.h"
#include "job/spec.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::cluster {

/// A job of the engine, shared by all Runs that follow it. It receives events from its links and
/// from Slurm, and carries out its attempt's actions.
///
///     State:  none --submit, find_again--> under_way --last host's end--> over
///             over --last result here or lost--> settled
///             over, settled --again--> none --another attempt begins--> under_way
///
/// If again() fails, the state is `none`. Fault decides which nodes the next attempt leaves out:
///
///     Fault:  unknown --Slurm has left a node out--> left_out
///             unknown, left_out --a node is named--> named
class ClusterJob {
 public:
  ClusterJob(SlurmEngine& engine, job::Spec spec, engine::JobFolder folder);
  ClusterJob(const ClusterJob&) = delete;
  ClusterJob& operator=(const ClusterJob&) = delete;

  /// Brings the job into Slurm's queue. Errors: of Slurm::submit(), of the disk.
  loop::Task<Result<void>> submit() { return submit(false); }
  /// Starts another attempt after all hosts have ended: with a new key, so that leftover stewards
  /// of the last attempt are ordered to end, and without the lost nodes. It starts on the existing
  /// nodes if there are enough spares, otherwise with another submission. Errors: as of submit();
  /// `invalid_input` while a host runs.
  loop::Task<Result<void>> again();
  /// For a job of an earlier engine. False: as far as Slurm knows, it never entered the queue.
  loop::Task<Result<bool>> find_again();

  void on_queue(const std::vector<slurm::QueuedJob>& rows);
  void stop(const std::string& host, std::chrono::milliseconds grace);
  void destroy(const std::string& host);
  /// Waits until no results are outstanding. Error: `closed`, naming the host whose results are
  /// lost.
  loop::Task<Result<void>> all_given();
  /// Removes the rest of the job from Slurm. Error: `denied` while a host runs.
  loop::Task<Result<void>> let_go();

  /// The job's places in a folder that its nodes share. Call it before submit().
  void set_shared(std::optional<SharedPlaces> shared) { shared_ = std::move(shared); }
  /// Adds a line for people at the beginning of the job's log.
  void note(std::string line) { spec_.notes.push_back(std::move(line)); }
  const job::Spec& spec() const { return spec_; }
  /// The links to the nodes of the current attempt; null: there is none.
  std::shared_ptr<AttemptLinks> links() const { return links_; }
  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::string& path() const { return folder_path_; }
  /// Empty once it was kept or removed.
  std::optional<engine::JobFolder>& folder() { return folder_; }
  /// Events since the engine knows the job; each Run continues from its own position.
  const std::vector<engine::Event>& history() const { return history_; }
  std::vector<engine::Event> present() const;
  loop::Event& moved() { return moved_; }
  int attempt() const { return note_.number; }
  /// Recorded with the next attempt.
  void set_broken(const std::string& host) { broken_ = host; }
  void set_tally(engine::Tally tally) { next_tally_ = tally; }
  engine::Tally tally() const { return note_.tally; }
  /// None before the first submission.
  std::optional<InSlurm> in_slurm() const;
  /// The chapters of the current attempt.
  const engine::Chapters& chapters() const { return note_.chapters; }
  enum class State { none, under_way, over, settled };
  State state() const;
  bool over() const { return state() >= State::over; }
  /// True while Slurm's reports about it count.
  bool asks() const {
    const State now = state();
    return (now == State::under_way || now == State::over) && !note_.slurm_id.empty();
  }
  bool moves() const { return asks() && attempt_->moves(); }
  /// Number of Slurm queries since it was submitted.
  int looks = 0;

 private:
  enum class Fault {
    unknown,   ///< The node is searched among the lost hosts.
    left_out,  ///< Slurm has given up a node, and leaves it out itself.
    named,     ///< `at_fault_` could not begin or continue.
  };
  /// State that ends with an attempt, besides its links.
  struct OfAttempt {
    std::map<std::string, std::string> spare_nodes{};  ///< By the names of the spares that joined.
    std::vector<Swap::Note> notes{};                   ///< To be reported once it has begun.
    std::set<int> lacks{};                             ///< Layers that some node lacks.
    bool asked_whose_signal = false;
    std::string asked_about{};  ///< The state for which Slurm was asked the reason.
  };

  slurm::Submission submission() const;
  std::string node_program() const;
  Result<void> new_names();
  loop::Task<Result<void>> end_chapters();
  std::optional<Swap> possible_swap() const;
  std::vector<std::string> lost_nodes() const;
  loop::Task<Result<void>> end_attempt(std::vector<std::string> lost);
  loop::Task<Result<void>> swap(Swap swap, std::vector<std::string> lost);
  void set_fault(const std::string& node);
  std::vector<std::string> nodes_at_fault();
  void take_spares(const LinkEvent& event);
  void say(const std::string& host, const std::string& text);
  Result<void> begin_attempt(std::vector<HostState> states);
  loop::Task<Result<void>> submit(bool in_doubt);
  loop::Task<Result<std::string>> bring_into_queue(bool in_doubt);
  loop::Task<Result<std::optional<std::string>>> id_by_name();
  Result<void> write_order(const std::string& path) const;
  loop::Task<> deliver();
  loop::Task<Result<void>> bring();
  loop::Task<> bring_image_and_begin();
  loop::Task<Result<void>> bring_layer(int number);
  loop::Task<> cancel();
  loop::Task<> ask_whose_signal();
  bool has_waiting_nodes() const;
  bool hides_why(const slurm::QueuedJob& row) const;
  loop::Task<> ask_why(slurm::QueuedJob row);
  loop::Task<> follow_links(std::shared_ptr<AttemptLinks> links);
  loop::Task<> watch_time();
  void take(const LinkEvent& event);
  void perform(const Actions& actions);

  SlurmEngine& engine_;
  job::Spec spec_;
  std::optional<engine::JobFolder> folder_;
  std::string folder_path_;
  std::vector<std::string> hosts_;
  AttemptNote note_;
  std::optional<SharedPlaces> shared_;
  engine::Tally next_tally_;
  std::string broken_;                   ///< The host whose node the next attempt leaves out.
  std::string partition_;                ///< As reported by Slurm.
  std::optional<slurm::QueuedJob> row_;  ///< Slurm's latest of the present submission.
  Fault fault_ = Fault::unknown;
  std::string at_fault_;
  std::optional<Attempt> attempt_;
  std::shared_ptr<AttemptLinks> links_;
  /// Kept until the continuing nodes have been informed.
  std::shared_ptr<AttemptLinks> former_links_;
  OfAttempt of_attempt_;
  std::vector<engine::Event> history_;
  bool cancelling_ = false;  ///< scancel is running.
  loop::Event moved_;
  loop::Event due_;  ///< The attempt's deadline may have changed.
  loop::Tasks tasks_;
};

}  // namespace muster::cluster
