#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "job/outcome.h"
#include "job/stacks.h"

namespace muster::platform {

/// Finds out that a running job hangs: nothing is printed, and no rank gets on
/// (docs/protocols/stacks.md, "Hangs"). While the job is silent whoever has this looks at all
/// processes a few times (`next_look`, job::Calls::moves) and tells what was seen; while it hangs,
/// too, to see whether it goes on.
///
/// Pure: callers pass `now`, which must not go back.
class HangWatch {
 public:
  /// `after`: how long nothing may happen; 0: never looks.
  explicit HangWatch(Duration after) : after_(after) {}

  enum class Finding { nothing, hangs, goes_on };

  /// The job's hosts run, or something was printed. True: it was found to hang, and goes on.
  bool active(TimePoint now);
  /// The job has said that it will be silent until then.
  void quiet_until(TimePoint until);
  /// When to look; none: not now.
  std::optional<TimePoint> next_look() const;
  /// What was seen, and what that changes.
  Finding look(std::vector<job::HostStacks> seen, TimePoint now);
  bool hangs() const { return hangs_; }
  /// With hangs(): the last sign of life.
  TimePoint since() const { return since_; }

 private:
  Duration after_;
  bool hangs_ = false;
  TimePoint since_{};
  std::optional<TimePoint> silent_since_;
  TimePoint quiet_until_{};
  TimePoint looked_{};
  TimePoint seen_at_{};
  TimePoint still_since_{};  ///< The first look since which nothing got on.
  int still_ = 0;            ///< Looks after that.
  std::vector<job::HostStacks> seen_;
};

/// True if nothing got on between two looks, `passed` apart: each rank (each process of a job
/// without ranks) either used hardly any processor time, or ran, stood where it had stood, and
/// neither read nor wrote nor got memory; and hosts hardly sent anything to each other.
/// False where that cannot be told.
bool stood_still(const std::vector<job::HostStacks>& before,
                 const std::vector<job::HostStacks>& after, Duration passed);

/// How much longer a program will be silent that wrote this line `age` ago ("muster quiet 600":
/// for 600 s from when it was written, also where a later process reads it). None for any other
/// line.
std::optional<Duration> quiet_from(std::string_view line, Duration age);

/// "no rank has got on for 60 s; rank 2 stands elsewhere than most": a hang in one line.
std::string hang_text(const std::vector<job::HostStacks>& seen, Duration after);

/// The verdict on a job that is ended for it: the odd rank's where there is one alone, else of the
/// first host.
job::Verdict hang_verdict(const std::vector<job::HostStacks>& seen, const std::string& text);

}  // namespace muster::platform
