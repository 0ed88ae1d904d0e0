#include "platform/standstill.h"

#include <algorithm>
#include <utility>

namespace muster::platform {

void Silence::begin(UnixMillis time) {
  last_ = std::max(last_.value_or(time), time);
}

bool Silence::heard(UnixMillis time) {
  if (!last_) return false;  // What preparations print is not the job's.
  last_ = std::max(*last_, time);
  return std::exchange(told_, false);
}

std::optional<UnixMillis> Silence::due() const {
  if (!last_ || told_ || after_.count() == 0) return std::nullopt;
  return *last_ + after_;
}

std::optional<UnixMillis> Silence::look(UnixMillis now) {
  const std::optional<UnixMillis> when = due();
  if (!when || now < *when) return std::nullopt;
  told_ = true;
  return last_;
}

}  // namespace muster::platform
