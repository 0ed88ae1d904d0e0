#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace muster::job {

// Pure: what PyTorch's Flight Recorder says about the collective operations of a job's ranks. All
// of it is a job's own text. Source: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp of
// PyTorch, read 2026-11-27; its versions 2.0 to 2.10 have these fields.

/// The oldest operation of a rank in a group of ranks (a "process group") that has not completed;
/// if all have, the last one.
struct Flight {
  enum class State { completed, scheduled, started };
  int rank = -1;
  std::string group;        ///< Name and description: "0 (default_pg)".
  std::int64_t size = 0;    ///< The number of ranks in the group; 0: not known.
  std::string operation;    ///< "all_reduce"
  std::int64_t number = 0;  ///< Counts the operations of the group.
  State state = State::completed;

  bool operator==(const Flight&) const = default;
};

// More than these are left out.
constexpr std::size_t flights_max = 512;       ///< A host's.
constexpr std::size_t flight_groups_max = 32;  ///< A rank's.
constexpr std::size_t flight_text_bytes_max = 64;

/// Reads the dump of a rank. Operations between two ranks (send, recv) are left out. Error:
/// `invalid_input`.
Result<std::vector<Flight>> flights_from(int rank, std::string_view dump);

Json to_json(const std::vector<Flight>& flights);
/// Error: `protocol`. More flights are cut off.
Result<std::vector<Flight>> flights_from_json(const Json& json);

struct FlightReport {
  bool waits = false;    ///< Some ranks wait in a collective operation.
  bool differs = false;  ///< And others in their group have not started it.
  /// "group 0 (default_pg) of 4 ranks: ranks 0-2 wait in all_reduce 12, rank 3 completed all_reduce
  /// 11", for each group in which ranks wait.
  std::vector<std::string> lines{};

  bool operator==(const FlightReport&) const = default;
};
/// Compares the flights of all hosts.
FlightReport flight_report(const std::vector<Flight>& flights);

}  // namespace muster::job
