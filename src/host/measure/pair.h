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

// The way between two hosts, measured by both. Source: docs/protocols/preflight.md.

constexpr std::size_t token_bytes = 32;

/// A host's part in the measurement of one pair, from the leader.
struct PairTask {
  bool connects = false;  ///< Connects and sends first; else it is connected to.
  std::string self;
  std::string peer;
  std::string address;  ///< The peer's, numeric.
  std::uint16_t port = 0;
  std::string hello;   ///< What who connects says; `token_bytes`, secret, of this pair alone.
  std::string answer;  ///< What it is answered.
  bool operator==(const PairTask&) const = default;
};
Json to_json(const PairTask& task);
/// Error: `protocol`.
Result<PairTask> pair_task_from(std::string_view payload);

struct Timing {
  Duration send = std::chrono::milliseconds(150);  ///< Each way.
  Duration warm_up =
      std::chrono::milliseconds(25);  ///< Bytes that arrive in this time do not count for the rate.
  Duration late = std::chrono::milliseconds(250);     ///< Behind `send`, for what is on its way.
  Duration connect = std::chrono::milliseconds(800);  ///< Also for the answer to the token.
};

/// A port for measurements. Connections without the token are closed.
struct Listener {
  Fd socket;
  std::uint16_t port = 0;
};
/// At a free port of `address`, a numeric one of this machine. Errors: `system`, `invalid_input`.
Result<Listener> listen_at(const std::string& address);

/// Takes part in the measurement. Blocks, at most three times `connect` and two times `send` and
/// `late`. The connecting host reports the round trip and what arrived here; the other host reports
/// what arrived there, and whether the reverse connection opens.
std::vector<PairFacts> measure(const PairTask& task, const Listener& listener,
                               const Timing& timing = {});

/// Pure. The hosts as a ring, in rounds in which no host is twice: pairs of places in the list.
/// Each edge is there once; the first of it connects.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> ring_rounds(std::size_t hosts);

/// Pure. What was said of the same ways, put together: the best of what was measured.
std::vector<PairFacts> merged(const std::vector<PairFacts>& told);

}  // namespace muster::preflight
