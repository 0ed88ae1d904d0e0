#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace muster::platform {

/// A running job that gives no sign of life.
struct Standstill {
  UnixMillis since{0};    ///< The last sign of life.
  UnixMillis noticed{0};  ///< When this was found.
  /// "the job hangs: ...", as hang_text(). Empty: hangs are not looked for, and all that is known
  /// is that the job printed nothing.
  std::string verdict;

  bool operator==(const Standstill&) const = default;
};

/// A job without a hang limit is called silent after this time without a line.
constexpr std::chrono::milliseconds silent_after = std::chrono::minutes(5);

/// Notices that a running job prints nothing: a fact, not a verdict. Works on the wall clock, since
/// lines have their times from there; so a job that is resumed is as silent as it was.
///
/// Pure: callers pass `now`.
class Silence {
 public:
  /// `after`: see silent_after; 0: never.
  explicit Silence(std::chrono::milliseconds after) : after_(after) {}

  /// The job's work began.
  void begin(UnixMillis time);
  /// A line was written. True: the job was called silent, and no longer is.
  bool heard(UnixMillis time);
  /// When it is silent for long enough; none: not before something happens.
  std::optional<UnixMillis> due() const;
  /// Since when it has been silent, once for each silence.
  std::optional<UnixMillis> look(UnixMillis now);

 private:
  std::chrono::milliseconds after_;
  std::optional<UnixMillis> last_;  ///< The latest line; none: the work has not begun.
  bool told_ = false;
};

}  // namespace muster::platform
