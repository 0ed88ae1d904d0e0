#pragma once

#include <memory>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "job/wire/usage.h"
#include "net/loop/tasks.h"

namespace muster::platform {

/// For people who look each second.
inline constexpr Duration usage_age_max = std::chrono::milliseconds(900);

/// Asks all hosts of one job what they use, for everybody who wants to know: the store, which takes
/// samples at its own pace, and people who look. So a host is asked only once at a time, and
/// looking takes nothing from the store's figures.
class UsageWatch {
 public:
  /// All outlive this; `tasks`, which may not be made yet, ends before this goes.
  UsageWatch(loop::Loop& loop, loop::Tasks& tasks, engine::Run& run);

  /// What running hosts use, in the job's order, at most `age_max` old: younger answers are told
  /// again. A host that does not answer in time, or not so soon again, tells what it said up to
  /// half a minute ago. Returns also when the job ends meanwhile.
  loop::Task<std::vector<job::HostUsage>> look(Duration age_max);
  /// Does not wait: what is known by now; asks if that is older than `age_max`.
  std::vector<job::HostUsage> seen(Duration age_max);

  /// Asks all hosts now. GPUs are told in the mean since the last sample. One sample at a time.
  loop::Task<std::vector<job::HostUsage>> sample();
  /// No host can be measured, now or later: none could in the last ten rounds.
  bool is_hopeless() const;

 private:
  struct State;
  class Part;
  void begin(Duration age_max);
  static loop::Task<> ask(Part part, engine::Run& run, std::string host, engine::Question question);
  static loop::Task<std::vector<job::HostUsage>> whole(std::shared_ptr<State> state);

  loop::Tasks& tasks_;
  engine::Run& run_;
  std::shared_ptr<State> state_;
};

}  // namespace muster::platform
