#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/forward_time.h"
#include "base/time.h"
#include "job/limits.h"
#include "job/wire/journal.h"
#include "platform/cause.h"
#include "platform/ending.h"
#include "platform/verdict.h"

namespace muster::platform {

/// A line of SageMaker's SecondaryStatusTransitions: "Starting", "Launching requested ML
/// instances". Each status shows its last message.
struct StatusLine {
  std::string status;
  std::string message;
  UnixMillis time{0};
  /// A separate entry next to the status's message, which stays. A later one replaces it. Only
  /// while the job is in that status.
  bool beside = false;

  bool operator==(const StatusLine&) const = default;
};

/// An action that the life cycle requests.
struct Action {
  enum class Kind {
    say,      ///< Show `line`.
    stop,     ///< Ask the host's steward to stop it with `grace`.
    kill,     ///< Ask the host's steward to end it now.
    destroy,  ///< The steward itself does not answer: kill it.
  };
  Kind kind = Kind::say;
  std::string host = {};
  std::chrono::milliseconds grace{0};
  StatusLine line = {};

  bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

/// How a job ended.
struct JobEnd {
  enum class Status { completed, failed, stopped, timed_out, waited_out };
  /// Whether the cause is a host's machine that went away, as the engine reported, or one of its
  /// GPUs that failed, which no program can cause.
  enum class Taken {
    no,
    lost,
    preempted,
    card_memory,  ///< A GPU's memory failed once; the machine is as good as before.
    card_broken,  ///< A GPU cannot be used any more, and so its machine.
  };
  Status status = Status::failed;
  Taken taken = Taken::no;
  job::Verdict verdict;
  std::string reason;          ///< The verdict in one line.
  std::string failure_file{};  ///< The content of output/failure on the verdict's host, written by
                               ///< the program.
  std::optional<Cause> cause{};                ///< The reason as a card; only for a failed job.
  std::vector<job::HostTimeline> timelines{};  ///< Each host's latest attempt.
  /// Whole seconds from the first download to the end; 0 if no download started.
  std::chrono::seconds training_time{0};
  StatusLine last;  ///< Shown once the results are in place.
};

/// The life of one job: reads its hosts' journals and decides the actions to take.
///
/// A host is `unknown`, then maybe `queued`, then `started`. Said is the job's progress as shown so
/// far: `starting`, `preparing`, `downloading`, `training`, `uploading`, in this order and without
/// gaps.
///
/// Pure: callers pass `now`, which must not go back from one event to the next
/// (base/forward_time.h), and, where a line gets a time, the wall clock.
class LifeCycle {
 public:
  struct Options {
    std::vector<std::string> hosts;  ///< In the job's order: the leader first.
    Duration run_time_max = std::chrono::hours(24);
    /// Limit of queue time plus run time, from construction on; none: no limit.
    std::optional<Duration> wait_max{};
    /// Hosts end by themselves after a failure; those still running after this time are killed. A
    /// silent host counts as lost after 5 s, so the whole job is over within 8 s of any fault.
    Duration failure_window = std::chrono::seconds(2);
    /// As failure_window, once the leader has reported success.
    Duration success_window = std::chrono::seconds(30);
    std::chrono::milliseconds grace = job::stop_grace_default;  ///< The time a stop grants.
    Duration stop_margin = std::chrono::seconds(3);             ///< For a steward to do it within.
    Duration kill_margin = std::chrono::milliseconds(1500);     ///< For a steward to kill within.
    Duration upload_margin = std::chrono::seconds(10);  ///< For results after a kill by the user.
  };
  LifeCycle(Options options, TimePoint now);

  /// The first actions: the job's first lines.
  Actions begin(UnixMillis time);
  /// The host waits to be started, for `reason`. The job's time limit does not run meanwhile.
  Actions on_queued(const std::string& host, const std::string& reason, UnixMillis time);
  Actions on_started(const std::string& host, UnixMillis time, TimePoint now);
  /// A record of the host's journal; `lines` may be left out.
  Actions on_record(const std::string& host, const job::Record& record, TimePoint now);
  /// The host's journal cannot be read on.
  Actions on_journal_error(const std::string& host, const Error& error, TimePoint now);
  /// Code outside the life cycle has found that the job cannot continue: `verdict` names the host.
  /// An earlier report by the host itself takes precedence.
  Actions on_verdict(job::Verdict verdict, TimePoint now);
  /// The host's steward has ended, and its journal was read to the end.
  Actions on_steward_end(const std::string& host, job::Outcome outcome, UnixMillis time,
                         TimePoint now);
  /// The engine reports that the host is gone since `time`: lost or preempted, and `why`. The part
  /// of its journal that arrived here was read.
  Actions on_host_gone(const std::string& host, JobEnd::Taken how, const std::string& why,
                       UnixMillis time, TimePoint now);
  /// The user requests a stop.
  Actions on_stop(UnixMillis time, TimePoint now);
  /// The user requests an immediate end.
  Actions on_kill(TimePoint now);
  Actions on_time(UnixMillis time, TimePoint now);
  /// The scheduler ended the host at a time limit: the job's own limit if that has expired, else a
  /// limit of the scheduler's, which makes the job fail. `why`: the scheduler's words.
  Actions on_time_limit(const std::string& host, const std::string& why, UnixMillis time,
                        TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  /// Time left until the job's time limit.
  Duration time_left(TimePoint now) const { return times_out_at_ - now; }
  /// Time left until the limit of queue time plus run time; none: no limit.
  std::optional<Duration> wait_left(TimePoint now) const {
    return waits_out_at_ ? std::optional<Duration>(*waits_out_at_ - now) : std::nullopt;
  }

  /// All stewards have ended.
  bool finished() const;
  /// With finished(): the end, as of `time`.
  JobEnd end(UnixMillis time) const;
  /// True once a host has failed or a verdict of failure is known.
  bool failed() const { return ending_.failed(); }

 private:
  enum class Stage { unknown, queued, started };
  enum class Said { starting, preparing, downloading, training, uploading };
  struct Host {
    HostFacts facts;
    job::Phase phase = job::Phase::starting;
    Stage stage = Stage::unknown;
    std::optional<TimePoint> kill_at;
    std::optional<TimePoint> destroy_at;
    JobEnd::Taken taken = JobEnd::Taken::no;
    bool over() const { return facts.steward.has_value(); }
  };

  Host& host(const std::string& name);
  void on_phase(Host& host, const job::PhaseChange& change, UnixMillis time);
  void on_failure(bool by_request, TimePoint now);
  void on_success(TimePoint now);
  Actions say_progress(UnixMillis time);
  static job::Phase phase_of(Said said);
  Actions say_up_to(Said said, UnixMillis time);
  Actions stop_all(StatusLine line, TimePoint now);
  Actions due(TimePoint now);
  bool is_queued() const;
  bool may_time_out() const { return ending_.goes_on() && !is_queued(); }

  Options options_;
  ForwardTime time_;
  std::vector<Host> hosts_;
  TimePoint times_out_at_;
  std::optional<TimePoint> waits_out_at_;
  Said said_ = Said::starting;
  UnixMillis launched_{0};  ///< When begin() was called.
  std::string waited_for_;  ///< The reason that was shown last.
  std::optional<UnixMillis> began_;
  Ending ending_;
  bool killed_ = false;  ///< The user requested an immediate end, whatever the ending.
};

/// "Completed", "Failed", "Stopped": SageMaker's TrainingJobStatus.
std::string_view status_name(JobEnd::Status status);

}  // namespace muster::platform
