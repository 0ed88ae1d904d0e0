#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "engine/engine.h"
#include "job/image_wish.h"
#include "net/loop/tasks.h"
#include "platform/job_run.h"
#include "server/cloudwatch/logs.h"
#include "server/cloudwatch/metrics.h"
#include "server/jobs/job_keys.h"
#include "server/jobs/job_preparation.h"
#include "server/jobs/jobs.h"
#include "server/jobs/reserve.h"
#include "server/jobs/watch.h"
#include "server/journal_files.h"
#include "server/queue/queue.h"
#include "server/store/store.h"

namespace muster::jobs {

/// An image on this machine, which is not removed while this exists.
struct HeldImage {
  job::Image image;
  Fd lease;
};
/// Finds an image, or pulls it, and calls `on_pull` before that. Destroying the task ends the pull.
/// Errors: `invalid_input` and `not_found` if the job is at fault, `system`.
using BringImage = std::function<loop::Task<Result<HeldImage>>(job::ImageWish wish,
                                                               std::function<void()> on_pull)>;

/// An image that the engine's machines open themselves, for hosts of this type; none if this
/// machine must pull it. Error: `invalid_input`, if the job is at fault.
using OpenElsewhere = std::function<Result<std::optional<job::Image>>(
    const job::ImageWish& wish, const std::string& instance_type)>;

/// Runs the store's jobs on an engine, in their order, from the start of the hosts to the last
/// stored file; resumes jobs of an earlier server. Belongs to the main loop.
///
/// A job outlives the server: its hosts continue, and start() reads their journals again from the
/// start. Events that the store already has are not stored twice.
class Runner final : public Jobs {
 public:
  struct Options {
    JobPreparation::Options preparation;
    std::string data;  ///< The server's folder, absolute: keys/ and reserve are in it.
    std::function<UnixMillis()> now;
    JobKeys::FreshKey fresh_key;
    BringImage bring_image;
    OpenElsewhere open_elsewhere{};
    /// See Jobs::in_slurm(); none: no job is on a cluster.
    std::function<Json(const std::string& job)> in_slurm{};
    /// How long start() reads jobs before calls are answered.
    std::chrono::milliseconds read_at_start{200};
    /// Asks the machine which of its GPUs jobs can get now; none: unknown. Not set: the GPUs of
    /// this machine are not this server's.
    std::function<loop::Task<std::optional<FitGpus>>()> fit_gpus{};
    /// How often it asks while jobs wait for GPUs, or some GPUs are unfit.
    Duration gpu_look = std::chrono::minutes(5);
    /// Called at the start and when a job is over: aborts uploads that such jobs left open in S3.
    /// Does not wait.
    std::function<void()> sweep_uploads{};
  };
  /// All but `options` outlive this.
  Runner(loop::Loop& loop, engine::Engine& engine, const server::JournalFiles& journals,
         store::Store& store, cloudwatch::Logs& logs, cloudwatch::Metrics& metrics,
         access::KeyRing& ring, const Log& log, Options options);

  /// Resumes the running jobs, and starts reading the waiting ones; the rest is read between calls.
  /// No job is started before all are read. Error: `system`.
  Result<void> start();

  Result<void, aws::Refusal> check(const api::JobRequest& request) const override;
  Result<void, aws::Refusal> pin(api::JobRequest& request) const override;
  Result<void, aws::Refusal> check_room(const std::string& key) const override;
  void submitted(const std::string& name, api::JobRequest request, Turn turn) override;
  Result<std::optional<int>, aws::Refusal> priority(const store::Tags& tags,
                                                    const std::string& key) const override;
  void set_priority(const std::string& name, int priority) override;
  std::optional<QueuePlace> place(const std::string& name) const override;
  std::optional<platform::Standstill> standstill(const std::string& name) const override;
  Json in_slurm(const std::string& name) const override;
  std::string why_waiting(const std::string& name) const override;
  void stop(const std::string& name) override;
  void kill(const std::string& name) override;
  void deleted(const std::string& name) override;

  /// The stacks of a running job's processes. Error: `closed` if none of its hosts runs.
  loop::Task<Result<std::vector<job::HostStacks>>> look(std::string name, job::Calls calls);
  /// What the hosts of a running job use; none while none of them runs.
  loop::Task<std::vector<job::HostUsage>> usage(std::string name);
  /// What all running jobs use, as far as it is known; asks hosts if that is older than
  /// `age_max`.
  std::vector<std::pair<std::string, std::vector<job::HostUsage>>> usages(Duration age_max) const;
  /// All jobs that run together; see platform::ReachWatch.
  platform::Reach reach() const;
  const JobCounts& counts() const { return counts_; }
  /// The hanging jobs, among those that are checked.
  std::int64_t hanging() const;
  /// Jobs that wait for their turn.
  std::size_t waiting() const { return queue_.waiting_count() + unread_.size(); }
  /// True while jobs of an earlier server are read.
  bool is_reading() const { return is_reading_; }
  /// The waiting jobs, and the resources that running jobs hold.
  const Queue& queue() const { return queue_; }
  /// How many times the runner looked for jobs to start: a measure of work, for tests.
  std::int64_t passes() const { return passes_; }
  /// True if the engine's scheduler decides when a job starts, not this queue.
  bool schedules_elsewhere() const { return engine_.schedules(); }

 private:
  /// A job that waits or runs.
  struct Active {
    Active(loop::Loop& loop, api::JobRequest asked) : request(std::move(asked)), requests(loop) {}
    api::JobRequest request;
    platform::Requests requests;
    bool card_broke = false;  ///< The failure names a GPU that has to be reset, or worse.
  };

  Result<Turn> turn_of(const store::Job& job);
  Demand demand_for(const std::string& name, const job::Spec& spec, const Turn& turn) const;
  loop::Task<> read_on();
  Result<void> read_some(Duration budget);
  Result<void> read_waiting(const std::string& name, std::int64_t number);
  Result<bool> remember_some();
  void enqueue(const std::string& name, api::JobRequest request, const Turn& turn,
               std::int64_t number);
  Result<void> take_up(const store::Job& job);
  loop::Task<> end_unreadable(std::string name, Error why);
  loop::Task<> clean_up();
  loop::Task<> watch_waits();
  loop::Task<> watch_gpus();
  loop::Task<> look_at_gpus();
  void schedule_soon();
  void schedule();
  loop::Task<> carry(std::string name, bool resumed);
  loop::Task<Result<void>> run(std::string name, bool resumed);
  Result<void> keep_slurm_note(const std::string& name);
  loop::Task<Result<void>> give_image(const store::Job& job, Active& active, job::Spec& spec,
                                      Fd& lease);
  void tell_pull(const store::Job& job);
  store::JobFinish failure(const Error& error) const;
  loop::Task<> finish(std::string name, store::JobFinish end);
  loop::Task<> finish_stopped(std::string name);

  loop::Loop& loop_;
  engine::Engine& engine_;
  const server::JournalFiles& journals_;
  store::Store& store_;
  cloudwatch::Logs& logs_;
  cloudwatch::Metrics& metrics_;
  const Log& log_;
  Options options_;
  JobKeys keys_;
  JobPreparation preparation_;
  Reserve reserve_;
  Queue queue_;
  JobCounts counts_;
  Standstills standstills_;
  /// Jobs of an earlier server that are not in the queue yet, in order; and how many of each key.
  std::deque<std::string> unread_;
  std::map<std::string, std::size_t> unread_of_;
  std::int64_t read_ = 0;
  UnixMillis remembered_{0};  ///< Jobs that ended until then are in the queue's accounts, too;
  std::int64_t remembered_number_ = 0;  ///< for jobs that ended at that time: up to this one.
  bool is_reading_ = false;
  std::vector<Queue::Past> taken_up_;  ///< Data of the running jobs for remember().
  bool pass_is_pending_ = false;       ///< schedule() is posted to the loop and has not run yet.
  std::int64_t passes_ = 0;
  std::map<std::string, std::unique_ptr<Active>> active_;
  /// Jobs with the name of an ended job that is still being removed.
  std::map<std::string, std::pair<api::JobRequest, Turn>> after_;
  loop::Event waits_changed_;  ///< Set when another job starts waiting.
  loop::Tasks tasks_;
};

}  // namespace muster::jobs
