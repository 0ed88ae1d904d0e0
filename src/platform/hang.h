#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/forward_time.h"
#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/stacks.h"

namespace muster::platform {

/// Detects that a running job hangs: it prints nothing, and no rank makes progress
/// (docs/protocols/stacks.md, "Hangs"). While the job is silent, the caller looks at all processes
/// a few times (`next_look`, job::Calls::moves) and reports what it has seen; it continues while
/// the job hangs, to notice when it resumes.
///
/// Pure: callers pass `now`, which must not go back (base/forward_time.h).
class HangWatch {
 public:
  /// `after`: how long nothing may happen; 0: never looks.
  explicit HangWatch(Duration after) : after_(after) {}

  enum class Finding { nothing, hangs, goes_on };

  /// The job's hosts have started to run, or the job printed something. True if this ends a
  /// detected hang.
  bool active(TimePoint now);
  /// The job has said that it will be silent until then.
  void quiet_until(TimePoint until);
  /// When to look; none: not now.
  std::optional<TimePoint> next_look() const;
  /// Reports what the caller saw, and returns what that changes.
  Finding look(std::vector<job::HostStacks> seen, TimePoint now);
  bool hangs() const { return hangs_; }
  /// With hangs(): the last sign of life.
  TimePoint since() const {
    CHECK_THAT(hangs_, "a job that hangs does so since some time");
    return since_;
  }

 private:
  Duration after_;
  ForwardTime time_;
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

/// True if no host has a trouble.
bool all_were_seen(const std::vector<job::HostStacks>& hosts);

/// True if there was no progress between two looks, `passed` apart: each rank (each process of a
/// job without ranks) either used almost no processor time, or ran at the same place without
/// reading, writing or allocating memory; and hosts sent almost nothing to each other. False if
/// this is unknown.
bool stood_still(const std::vector<job::HostStacks>& before,
                 const std::vector<job::HostStacks>& after, Duration passed);

/// How much longer a program will be silent after it wrote this line `age` ago. "muster quiet 600"
/// means 600 s from when it was written, even if a later process reads it. None for any other line.
std::optional<Duration> quiet_from(std::string_view line, Duration age);

/// Describes a hang in one line: its duration, the ranks that are stuck elsewhere than most, and
/// those that wait for their GPUs.
std::string hang_text(const std::vector<job::HostStacks>& seen, Duration after);

/// The verdict on a job that is ended because it hangs: about the odd rank if there is exactly one,
/// otherwise about the first host.
job::Verdict hang_verdict(const std::vector<job::HostStacks>& seen, const std::string& text);

}  // namespace muster::platform
