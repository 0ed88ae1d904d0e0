#include "platform/retries.h"

namespace muster::platform {

Retries::Answer Retries::after(const JobEnd& end, bool got_on) {
  if (end.taken == JobEnd::Taken::no || most_ == 0) return {};
  idle_ = got_on ? 0 : idle_ + 1;
  if (idle_ >= idle_most)
    return {false, "not started again: " + std::to_string(idle_) +
                       " attempts one after the other left no checkpoint"};
  if (end.taken == JobEnd::Taken::preempted) return {true, end.reason};
  if (++lost_ > most_)
    return {false, "not started again: a machine was lost " + std::to_string(lost_) + " times"};
  return {true, end.reason};
}

}  // namespace muster::platform
