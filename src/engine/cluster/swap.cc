#include "engine/cluster/swap.h"

#include <deque>

namespace muster::cluster {

std::optional<Swap> plan_swap(const std::vector<AttemptNode>& hosts,
                              const std::vector<AttemptNode>& spares) {
  std::deque<AttemptNode> free;
  for (const AttemptNode& spare : spares)
    if (spare.can_go_on) free.push_back(spare);
  Swap swap;
  for (const AttemptNode& host : hosts) {
    const std::string why = host.why_lost.empty() ? "" : ": " + host.why_lost;
    if (host.can_go_on) {
      swap.moves.push_back({host.name, host.name});
      if (!why.empty())
        swap.notes.push_back({host.name, "was lost on " + host.node + why + "; it restarts there"});
      continue;
    }
    if (free.empty()) return std::nullopt;
    swap.moves.push_back({free.front().name, host.name});
    swap.notes.push_back({host.name, "was lost" + (host.node.empty() ? "" : " on " + host.node) +
                                         why + "; " + free.front().node +
                                         ", a spare, takes its place"});
    free.pop_front();
  }
  for (const AttemptNode& spare : free) {
    swap.moves.push_back({spare.name, spare.name});
    swap.spares.push_back(spare.name);
  }
  return swap;
}

}  // namespace muster::cluster
