#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/limits.h"
#include "job/wire/journal.h"
#include "platform/cause.h"
#include "platform/ending.h"
#include "platform/verdict.h"

namespace muster::platform {

/// A line of SageMaker's SecondaryStatusTransitions: "Starting", "Launching requested ML
/// instances". Of one status the last message stands.
struct StatusLine {
  std::string status;
  std::string message;
  UnixMillis time{0};
  /// An entry of its own next to the status's message, which stays; a later one replaces it. Only
  /// while the job is in that status.
  bool beside = false;

  bool operator==(const StatusLine&) const = default;
};

/// What the life cycle wants done.
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
  /// Whether the cause is that a host's machine went, by the engine's word; or that a GPU of it
  /// failed, which no program can cause.
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
  std::string failure_file{};  ///< What the program wrote to output/failure on the verdict's host.
  std::optional<Cause> cause{};                ///< The reason as a card, of one that failed.
  std::vector<job::HostTimeline> timelines{};  ///< Each host's latest attempt.
  /// Whole seconds from the first download to the end; 0 if it never came to that.
  std::chrono::seconds training_time{0};
  StatusLine last;  ///< Said when the results lie in place.
};

/// The life of one job, from what its hosts' journals say to what is to be done about it.
///
/// A host is `unknown`, then maybe `queued`, then `started`. What was said of the job's progress is
/// Said: `starting`, `preparing`, `downloading`, `training`, `uploading`, none left out.
///
/// Pure: callers pass `now` (it must not go back) and, where a line gets a time, the wall clock.
class LifeCycle {
 public:
  struct Options {
    std::vector<std::string> hosts;  ///< In the job's order: the leader first.
    Duration run_time_max = std::chrono::hours(24);
    /// The most that it may wait in a queue and run, from its construction on; none: no limit.
    std::optional<Duration> wait_max{};
    /// Hosts end by themselves after a failure; what has not by then is killed. With the 5 s after
    /// which a silent host counts as lost the whole job is over within 8 s of any fault.
    Duration failure_window = std::chrono::seconds(2);
    /// As failure_window, once the leader has told success.
    Duration success_window = std::chrono::seconds(30);
    std::chrono::milliseconds grace = job::stop_grace_default;  ///< What a stop grants.
    Duration stop_margin = std::chrono::seconds(3);             ///< For a steward to do it within.
    Duration kill_margin = std::chrono::milliseconds(1500);     ///< For a steward to kill within.
    Duration upload_margin = std::chrono::seconds(10);  ///< For results after the user's kill.
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
  /// Somebody outside has found that the job cannot go on: `verdict` names the host. What the host
  /// itself said before counts more.
  Actions on_verdict(job::Verdict verdict, TimePoint now);
  /// The host's steward has ended, and its journal was read to the end.
  Actions on_steward_end(const std::string& host, job::Outcome outcome, UnixMillis time,
                         TimePoint now);
  /// The engine says that the host is gone since `time`: lost, or taken away for others, and `why`.
  /// What is here of its journal was read.
  Actions on_host_gone(const std::string& host, JobEnd::Taken how, const std::string& why,
                       UnixMillis time, TimePoint now);
  /// The user asks for a stop.
  Actions on_stop(UnixMillis time, TimePoint now);
  /// The user wants it over at once.
  Actions on_kill(TimePoint now);
  Actions on_time(UnixMillis time, TimePoint now);
  /// The scheduler ended the host at a time limit: the job's own, if that is up, else one that it
  /// has set, which makes the job fail. `why`: in its words.
  Actions on_time_limit(const std::string& host, const std::string& why, UnixMillis time,
                        TimePoint now);
  std::optional<TimePoint> next_deadline() const;
  /// What is left of the job's time limit.
  Duration time_left(TimePoint now) const { return times_out_at_ - now; }
  /// What is left of the time that it may wait and run; none: no limit.
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
  std::vector<Host> hosts_;
  TimePoint times_out_at_;
  std::optional<TimePoint> waits_out_at_;
  Said said_ = Said::starting;
  UnixMillis launched_{0};  ///< When begin() was told.
  std::string waited_for_;  ///< The reason that was told last.
  std::optional<UnixMillis> began_;
  Ending ending_;
  bool killed_ = false;  ///< The user wants it over at once, whatever its ending.
};

/// "Completed", "Failed", "Stopped": SageMaker's TrainingJobStatus.
std::string_view status_name(JobEnd::Status status);

}  // namespace muster::platform
