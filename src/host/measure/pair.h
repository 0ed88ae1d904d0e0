#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "job/preflight/facts.h"

namespace muster::preflight {

// Measures the link between two hosts, from both ends. Source: docs/protocols/preflight.md.

constexpr std::size_t token_bytes = 32;

/// A host's part in the measurement of one pair, from the leader.
struct PairTask {
  bool connects = false;  ///< Connects and sends first; otherwise accepts the connection.
  std::string self;
  std::string peer;
  std::string address;  ///< The peer's, numeric.
  std::uint16_t port = 0;
  std::string hello;   ///< The connecting host's token: `token_bytes`, secret, for this pair only.
  std::string answer;  ///< The token in the response.
  bool operator==(const PairTask&) const = default;
};
Json to_json(const PairTask& task);
/// Error: `protocol`.
Result<PairTask> pair_task_from(std::string_view payload);

struct Timing {
  Duration send = std::chrono::milliseconds(150);  ///< In each direction.
  Duration warm_up =
      std::chrono::milliseconds(25);  ///< Bytes that arrive in this time do not count for the rate.
  Duration late = std::chrono::milliseconds(250);     ///< After `send`, for data in transit.
  Duration connect = std::chrono::milliseconds(800);  ///< And for the response to the token.
};

/// A port for measurements. Connections without the token are closed.
struct Listener {
  Fd socket;
  std::uint16_t port = 0;
};
/// Listens on a free port of `address`, a numeric address of this machine. Errors: `system`,
/// `invalid_input`.
Result<Listener> listen_at(const std::string& address);

/// Takes part in the measurement. Blocks, at most three times `connect` and two times `send` and
/// `late`. The connecting host reports the round trip and the bytes that arrived at it; the other
/// host reports the bytes that arrived there, and whether the reverse connection works.
std::vector<PairFacts> measure(const PairTask& task, const Listener& listener,
                               const Timing& timing = {});

/// Pure. The hosts as a ring, divided into rounds in which each host occurs once: pairs of indices
/// into the list. Each edge occurs once; its first host connects.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> ring_rounds(std::size_t hosts);

/// Pure. Combines several results for the same links: the best value of each.
std::vector<PairFacts> merged(const std::vector<PairFacts>& told);

}  // namespace muster::preflight
