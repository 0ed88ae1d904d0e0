#pragma once

#include <optional>

#include "base/forward_time.h"
#include "base/time.h"
#include "job/outcome/outcome.h"

namespace muster::coordinate {

/// Finds the first cause among the ends of a job's or a call's processes and hosts, as they reach
/// the leader: the end that is not a consequence of another one. Every host reports it to the
/// platform, whose own rule (platform/verdict.h) compares it with what stewards observed.
///
/// The first failure opens a window. When it closes, the failure of the best class wins; within a
/// class, the one that arrived first. Later failures are consequences:
///   1. a crash: any signal not listed below; SIGKILL of a launcher's process (mpirun, orted); a
///      lost host. No other class is better, so these are decided at once;
///   2. SIGKILL of a rank. mpirun kills ranks 1 s after TERM and we after the failure grace, so
///      within the window it is not a consequence (the kernel's memory killer, a person);
///   3. a rank that exits on its own, or a program that could not be run;
///   4. SIGPIPE: another process closed the connection first;
///   5. SIGTERM, SIGINT, SIGHUP, or a late SIGKILL, of a rank that had reported its own error
///      before: it was signalled while it was ending; SIGKILL of a `sm rank`, by its launcher;
///   6. an end of a rank whose error blames a peer (Verdict::blames_peer), even by a crash;
///   7. a launcher's process that exits on its own: it only reports what happened to others;
///   8. an end of a launcher's process whose error blames a peer;
///   9. SIGTERM, SIGINT, SIGHUP: the process was asked to end.
/// Ranks may notice a peer's failure seconds before the peer has ended. So while the best class is
/// 6 or 8, the window stays open until all have ended, at most for `blaming_window`. SIGKILL of a
/// rank in that extra time does not count: mpirun may have sent it. So a rank that exits because
/// its peer has failed never hides the peer's end. Pure: reads no clock; `now` must not go
/// back from one event to the next (base/forward_time.h). Source: docs/protocols/first-cause.md;
/// table in first_cause_test.cc.
class FirstCause {
 public:
  struct Options {
    Duration window = std::chrono::milliseconds(200);
    Duration blaming_window = std::chrono::seconds(5);  ///< Class 6 or 8 is the best.
  };
  FirstCause() = default;
  explicit FirstCause(Options options) : options_(options) {}

  /// Records the end of one process or host. Successes are ignored. `verdict.rank` is -1 for what
  /// is not a rank: then an own exit counts as a launcher's.
  void add(job::Verdict verdict, TimePoint now);
  /// No process that could still fail is running: the failure is reported within one window from
  /// now.
  void all_ended(TimePoint now);
  /// The verdict, once nothing that could still come would change it. Never taken back.
  std::optional<job::Verdict> decide(TimePoint now) const;
  /// When decide() will have an answer at the latest; none if nothing has failed.
  std::optional<TimePoint> next_deadline() const;
  /// True once anything has failed, decided or not.
  bool failing() const { return best_.has_value(); }
  /// The verdict if no more ends arrive; none if the only failures are processes that were asked to
  /// end.
  std::optional<job::Verdict> so_far() const;

 private:
  TimePoint closes() const;

  Options options_;
  ForwardTime time_;
  std::optional<job::Verdict> best_;
  int class_ = 0;  ///< The class of `best_`; lower wins.
  TimePoint opened_;
  std::optional<TimePoint> all_ended_;
};

}  // namespace muster::coordinate
