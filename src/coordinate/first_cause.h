#pragma once

#include <optional>

#include "base/time.h"
#include "job/outcome.h"

namespace muster::coordinate {

/// Finds the first cause among the ends of a job's or a call's processes and hosts, as they reach
/// the leader: the end that is nobody's consequence. What it finds is every host's word to the
/// platform, whose own rule (platform/verdict.h) weighs it against what stewards saw.
///
/// The first failure opens a window. When it closes, the failure of the best class wins, within a
/// class the one that arrived first; what arrives later is a consequence:
///   1. a crash: any signal but those named below; SIGKILL of a launcher's process (mpirun, orted);
///      a lost host. Nothing beats these, so they are decided at once;
///   2. SIGKILL of a rank. mpirun kills ranks 1 s after TERM and we after the failure grace, so one
///      inside the window is nobody's consequence (the kernel's memory killer, a person);
///   3. an own exit of a rank, or something that could not be run;
///   4. SIGPIPE: somebody else went away first;
///   5. SIGTERM, SIGINT, SIGHUP, or a late SIGKILL of a rank, that had told an error of its own
///      before: somebody ended it while it was ending; SIGKILL of a `sm rank`: its launcher did it;
///   6. an end of a rank whose error blames a peer (Verdict::blames_peer), by a crash too;
///   7. an own exit of a launcher's process: it only reports what happened to others;
///   8. an end of a launcher's process whose error blames a peer;
///   9. SIGTERM, SIGINT, SIGHUP: asked to end by somebody.
/// A peer may be seen to be gone seconds before it has ended: while class 6 or 8 is the best the
/// window is open until all have ended, at most for so long. SIGKILL of a rank has no part in what
/// is longer: by then mpirun may have sent it. So a rank that exits because its peer is gone never
/// hides the peer's death. Pure: reads no clock; `now` must not go backwards. Source:
/// docs/protocols/first-cause.md; table in first_cause_test.cc.
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
  /// Nothing runs any more that could still fail: what has failed is told within a window from now.
  void all_ended(TimePoint now);
  /// The verdict, once nothing that could still come would change it. Never taken back.
  std::optional<job::Verdict> decide(TimePoint now) const;
  /// When decide() will have an answer at the latest; none if nothing has failed.
  std::optional<TimePoint> next_deadline() const;
  /// True once anything has failed, decided or not.
  bool failing() const { return best_.has_value(); }
  /// What the verdict is if nothing more comes; none if nothing has failed but what was asked to
  /// end by somebody.
  std::optional<job::Verdict> so_far() const;

 private:
  TimePoint closes() const;

  Options options_;
  std::optional<job::Verdict> best_;
  int class_ = 0;  ///< The class of `best_`; lower wins.
  TimePoint opened_;
  std::optional<TimePoint> all_ended_;
};

}  // namespace muster::coordinate
