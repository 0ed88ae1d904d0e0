#include "platform/retries.h"

namespace muster::platform {

Retries::Answer Retries::after(const JobEnd& end, bool got_on) {
  if (end.taken == JobEnd::Taken::no || most_ == 0) return {};
  tally_.idle = got_on ? 0 : tally_.idle + 1;
  if (tally_.idle >= idle_most)
    return {false, "not restarted: " + std::to_string(tally_.idle) +
                       " attempts in a row did not leave a checkpoint"};
  if (end.taken == JobEnd::Taken::preempted) return {true, end.reason};
  if (++tally_.lost > most_)
    return {false, "not restarted: a machine was lost " + std::to_string(tally_.lost) + " times"};
  return {true, end.reason};
}

}  // namespace muster::platform
