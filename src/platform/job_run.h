#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "job/outcome/lines.h"
#include "job/wire/journal.h"
#include "job/wire/stacks.h"
#include "net/loop/wait.h"
#include "platform/life_cycle.h"
#include "platform/reach.h"
#include "platform/results.h"
#include "platform/retries.h"
#include "platform/standstill.h"
#include "platform/usage_watch.h"

namespace muster::platform {

struct JobReport {
  JobEnd end;
  Merged results;
  std::string uploaded;  ///< What is in S3, as JSON; empty if nothing was asked for.
  std::string kept;      ///< Where the job is kept, for a person; empty: it is not.
  std::string trouble;   ///< What could not be done after the job's end, in one line; else empty.
};

/// Receives the events of a job, in order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void status(const StatusLine& line) = 0;
  /// The job's end: its results are in place, its journals are still there.
  virtual void ended(const JobReport& report) { status(report.end.last); }
  virtual void lines(const std::string& host, UnixMillis time, const job::Lines& lines) = 0;
  virtual void log(const std::string& host, UnixMillis time, const job::LogLine& line) = 0;
  /// What a full preflight of the job found out about a node, as a record of
  /// job/preflight/health.h. It comes from a host, so it is not trusted.
  virtual void health(const std::string& /*node*/, const std::string& /*record*/) {}
  /// What running hosts use; all of them are asked at regular intervals.
  virtual void usage(const std::vector<engine::HostUsage>&) {}
  /// The job hangs or is silent; none: no longer.
  virtual void standstill(const std::optional<Standstill>&) {}
  /// Until they are asked next; 0: never.
  virtual Duration usage_pause() { return Duration(0); }
  /// Called when there are no more events for now, or many: waits until the sink can take more. The
  /// job continues meanwhile; its journals are on disk.
  virtual loop::Task<> flush() = 0;
};

/// The user's requests to a running job; the job's loop may read them at any time.
class Requests {
 public:
  explicit Requests(loop::Loop& loop) : changed_(loop) {}
  void stop() {
    stop_ = true;
    changed_.notify();
  }
  /// Now: without grace.
  void kill() {
    kill_ = true;
    changed_.notify();
  }
  bool stop_wanted() const { return stop_; }
  bool kill_wanted() const { return kill_; }
  loop::Event& changed() { return changed_; }

  /// Takes the stacks of the job's processes on all its hosts; if a host cannot be asked, its
  /// answer says why.
  using Look = std::function<loop::Task<std::vector<job::HostStacks>>(job::Calls)>;
  /// Empty while no host is running.
  Look look() const { return look_; }
  void set_look(Look look) { look_ = std::move(look); }

  /// How many of the job's stewards answer; none while no host is running.
  Reach reach() const { return reach_ ? reach_() : Reach(); }
  void set_reach(std::function<Reach()> reach) { reach_ = std::move(reach); }

  /// What the job's hosts use; null while no host is running.
  UsageWatch* usage() const { return usage_; }
  void set_usage(UsageWatch* usage) { usage_ = usage; }

 private:
  bool stop_ = false;
  bool kill_ = false;
  Look look_;
  std::function<Reach()> reach_;
  loop::Event changed_;
  UsageWatch* usage_ = nullptr;
};

struct JobRunOptions {
  LifeCycle::Options times;  ///< `hosts`, `grace` and `run_time_max` are taken from the spec.
  bool keep = false;         ///< The job stays for inspection.
  bool only_if_any = false;  ///< No output folder for a job that leaves no file.
  bool overwrite = false;    ///< An earlier job's results in the output folder make way.
  Duration upload_pause = std::chrono::seconds(10);  ///< Between uploads without room.
  /// Replaces Spec::hang_after, whose minimum is too long for unit tests.
  std::optional<Duration> hang_after{};
  /// How long a job without a hang limit may print nothing before it is reported as silent; 0:
  /// never reported.
  std::chrono::milliseconds silent_after = platform::silent_after;
  std::optional<Owner> owner{};  ///< Owner of the output folder; none: the current user.
  /// Writes the job's log, which ends with `last`, into a folder, on a separate thread; none: the
  /// output folder gets no log.
  std::function<Result<void>(const std::string& folder, const StatusLine& last)> write_log{};
};

/// Runs a job from its start to its last file: starts its hosts, reports to `sink`, ends it as
/// life_cycle.h says, stores results in `spec.s3_output` and `spec.output_folder`, and cleans up.
/// Errors: as of Engine::start(). `engine`, `sink` and `requests` outlive the task.
loop::Task<Result<JobReport>> run_job(loop::Loop& loop, engine::Engine& engine, job::Spec spec,
                                      JobRunOptions options, Sink& sink, Requests& requests);

/// Resumes a job that `engine` started in an earlier process: reports everything to `sink` again
/// from the start. `spec` is unchanged. Errors: `not_found`: the job does not exist, for example
/// because its start was interrupted, and may be started again; else as run_job().
loop::Task<Result<JobReport>> resume_job(loop::Loop& loop, engine::Engine& engine, job::Spec spec,
                                         JobRunOptions options, Sink& sink, Requests& requests);

}  // namespace muster::platform
