#pragma once

// For tests only: an engine in memory. Nothing happens on its own: the test plays every host's
// steward and advances the time.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "net/loop/wait.h"

namespace muster::engine {

struct FakeJob;

/// A host of a fake job. The job's Runs see at once what the test does to it.
class FakeHost {
 public:
  /// What its steward does when it is asked to stop.
  enum class Manner {
    obeys,     ///< Ends at once.
    stubborn,  ///< Ends when the grace is over.
    deaf,      ///< Does not end.
  };
  FakeHost(FakeJob& job, std::string name) : job_(job), name_(std::move(name)) {}

  FakeHost& waits(const std::string& reason);
  FakeHost& starts(const std::string& node = "node-1");
  FakeHost& reports_health(const std::string& what);
  /// The host's steward ends. If the host has not started, it starts first.
  FakeHost& ends(job::Outcome outcome = job::Outcome::exited(0));
  /// `before`: how long ago the host last gave a sign of life.
  FakeHost& lost(const std::string& why, Duration before = Duration(0));
  FakeHost& preempted(const std::string& why);

  FakeHost& record(job::Message kind, const std::string& payload);
  FakeHost& phase(job::Phase phase);
  FakeHost& says(int rank, const std::string& text);
  FakeHost& verdict(const job::Verdict& verdict);
  /// The steward's record of the outcome, after the phase that precedes it.
  FakeHost& outcome(job::Outcome outcome, bool stopped = false);
  /// Damages the journal: nothing after what has been written so far can be read.
  FakeHost& damage();
  /// Leaves a file, such as "model/weights", which results() returns.
  FakeHost& leaves(const std::string& path, const std::string& text);

  const std::string& name() const { return name_; }
  int attempt() const { return attempt_; }
  bool over() const { return end_.has_value(); }
  bool started() const { return started_.has_value(); }

  Manner manner = Manner::obeys;
  std::optional<Usage> usage;  ///< The host's answers; none: it does not know the question.
  std::optional<job::HostStacks> stacks;
  int viewed = 0;          ///< How often somebody who looks has asked for `usage`.
  bool is_silent = false;  ///< Gives no sign of life, until the job moves again.

 private:
  friend class FakeRun;
  friend class FakeEngine;
  void tell(Event& event);
  void begin(bool queues);
  void begin_again(bool queues);
  void stop(Duration grace);
  /// The state now, as a Run from attach() sees it.
  std::vector<Event> present() const;

  FakeJob& job_;
  std::string name_;
  int attempt_ = 1;
  std::optional<Event> queued_;
  std::optional<Event> started_;
  std::optional<Event> health_;
  std::optional<Event> end_;
  std::vector<job::Record> journal_;
  bool damaged_ = false;
  std::map<std::string, std::string> files_;
};

class FakeCluster;

/// A job that was started or will be: a test may write to its hosts before the start.
struct FakeJob {
  FakeJob(FakeCluster& of, loop::Loop& loop, job::Spec what);
  FakeJob(const FakeJob&) = delete;
  FakeJob& operator=(const FakeJob&) = delete;
  ~FakeJob();
  FakeHost& host(const std::string& name) { return hosts.at(name); }
  bool over() const;

  FakeCluster& cluster;
  job::Spec spec;
  std::vector<std::string> names;
  std::map<std::string, FakeHost> hosts;
  std::string
      asked;  ///< "algo-1 30000;destroy algo-2;upload completed;": what was asked, in order.
  /// If set, it is called instead of following the hosts' manners.
  std::function<void(const std::string& host, std::chrono::milliseconds grace)> on_stop;
  std::optional<Error> upload_error;
  int no_room = 0;  ///< So many uploads find none.
  std::optional<Error> release_error;
  bool begun = false;  ///< The job's name is in use.
  bool whole = false;
  bool uploaded = false;
  Tally tally;  ///< Up to the latest attempt.
  bool kept = false;

  std::vector<Event> history;
  std::uint64_t growth = 0;  ///< Counts records of all journals.
  loop::Event moved;
  std::string folder;  ///< Where results() puts the hosts' files; goes with the job.
};

/// What outlives an engine: the jobs and the time.
class FakeCluster {
 public:
  explicit FakeCluster(loop::Loop& loop) : loop_(loop), moved_(loop) {}

  /// The job as it is or, before it is started, as it will be. The same one until it is released.
  FakeJob& job(const job::Spec& spec);
  FakeJob& job(const std::string& name) { return *jobs_.at(name); }
  bool has(const std::string& name) const { return jobs_.contains(name); }
  /// The fake time; it starts at one second.
  UnixMillis wall() const;
  /// Lets time pass, and runs what is due.
  void pass(Duration time);
  /// Runs `what` after that much time.
  void after(Duration time, std::function<void()> what);

  bool queues = false;      ///< Hosts wait until the test starts them.
  bool full_disk = false;   ///< Nothing can be written down.
  Duration start_takes{0};  ///< How long start() asks others.
  std::string journals;     ///< A folder where the test puts journals, JOB-HOST; empty: none.

 private:
  friend class FakeEngine;
  friend class FakeRun;
  loop::Loop& loop_;
  loop::Event moved_;
  Duration now_{0};
  std::multimap<Duration, std::function<void()>> due_;
  std::map<std::string, std::shared_ptr<FakeJob>> jobs_;
};

/// An engine of the cluster; any number of them, one after the other, as of a process that is
/// started again. `cluster` outlives it and its Runs.
class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(FakeCluster& cluster) : cluster_(cluster) {}
  loop::Task<Result<std::unique_ptr<Run>>> start(job::Spec spec) override;
  loop::Task<Result<std::unique_ptr<Run>>> attach(std::string job) override;
  std::vector<std::string> list() const override;
  std::string journal_file(const std::string& job, const std::string& host) const override;
  bool schedules() const override { return cluster_.queues; }

 private:
  FakeCluster& cluster_;
};

}  // namespace muster::engine
