#pragma once

// Inside cluster/ only.

#include <optional>
#include <string>
#include <vector>

namespace muster::cluster {

/// A node of an attempt that is over.
struct AttemptNode {
  std::string name{};      ///< "algo-2", "spare-1"
  std::string node{};      ///< Empty: its steward never came.
  bool can_go_on = false;  ///< The link is open, and the node was not ordered to end.
  std::string why_lost{};  ///< Empty: it was not.
};

/// How a job's next attempt begins on the nodes that it still has.
struct Swap {
  struct Move {
    std::string from;  ///< The name in the attempt that is over,
    std::string to;    ///< and in the next.

    bool operator==(const Move&) const = default;
  };
  struct Note {
    std::string host;
    std::string text;

    bool operator==(const Note&) const = default;
  };
  std::vector<Move> moves;
  std::vector<std::string> spares;  ///< Nodes that go on standing by.
  std::vector<Note> notes;          ///< For people: what became of the hosts that were lost.
};

/// A host whose node remains continues there; another one gets the node of a spare. None if there
/// are too few spares. Pure. Source: docs/decisions/0052-spares.md.
std::optional<Swap> plan_swap(const std::vector<AttemptNode>& hosts,
                              const std::vector<AttemptNode>& spares);

}  // namespace muster::cluster
