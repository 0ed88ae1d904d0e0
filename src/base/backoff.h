#pragma once

#include <algorithm>

#include "base/time.h"

namespace muster {

/// A number in [0, 1) from the kernel's generator.
double random_chance();

/// Pauses between tries: doubling from `first` to `most`. Pure: chance comes in as an argument.
class Backoff {
 public:
  struct Options {
    Duration first = std::chrono::milliseconds(50);
    Duration most = std::chrono::seconds(1);
  };
  Backoff() = default;
  explicit Backoff(Options options) : options_(options), step_(options.first) {}

  /// The next pause: between half of the step and the step, by `chance` in [0, 1). Hosts that
  /// failed at one moment so do not come again at one moment.
  Duration next(double chance) {
    const Duration step = step_;
    step_ = std::min(step_ * 2, options_.most);
    return step / 2 + std::chrono::duration_cast<Duration>(step / 2 * chance);
  }
  void reset() { step_ = options_.first; }

 private:
  Options options_;
  Duration step_ = options_.first;
};

}  // namespace muster
