#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/fd.h"
#include "base/time.h"

namespace muster {

/// A number in [0, 1) from the kernel's generator.
inline double random_chance() {
  const std::string bytes = random_bytes(4);
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<double>(number) / 4294967296.0;
}

/// Pauses between tries: doubling from `first` to `most`. Pure: chance comes in as an argument.
class Backoff {
 public:
  struct Options {
    Duration first = std::chrono::milliseconds(50);
    Duration most = std::chrono::seconds(1);
  };
  Backoff() = default;
  explicit Backoff(Options options) : options_(options), step_(options.first) {}

  /// The next pause: between half of the step and the step, by `chance` in [0, 1), so that hosts
  /// that failed at the same moment do not try again at the same moment.
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
