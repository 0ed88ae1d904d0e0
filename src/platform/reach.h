#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "net/loop/tasks.h"

namespace muster::platform {

/// How many stewards were asked for a sign of life, and how many of them owe it.
struct Reach {
  int asked = 0;
  int silent = 0;

  bool operator==(const Reach&) const = default;
};

/// Checks whether the stewards of one job respond. It does not ask on its own: each call asks the
/// stewards that do not owe a response, and returns what is known by then. A steward counts as not
/// asked if its engine does not support the question, or if it is about to start or end.
class ReachWatch {
 public:
  /// How long an answer may take; a steward that works answers within milliseconds.
  static constexpr Duration silent_after = std::chrono::seconds(5);

  /// Both outlive this; `tasks` ends before this goes.
  ReachWatch(loop::Tasks& tasks, engine::Run& run);
  Reach look(TimePoint now);

 private:
  struct Host {
    std::optional<TimePoint> owes_since;
    bool answers = false;  ///< What came of the last question.
  };
  loop::Task<> ask(std::size_t index);

  loop::Tasks& tasks_;
  engine::Run& run_;
  std::vector<Host> hosts_;
};

/// "1 of 3 stewards does not answer"; empty where all do.
std::string silence_text(const Reach& reach);

}  // namespace muster::platform
