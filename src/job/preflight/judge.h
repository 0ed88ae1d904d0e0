#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"
#include "job/preflight/facts.h"

namespace muster::preflight {

// Pure: which of a job's hosts is the odd one.

/// Differences above these are reported. Each has a variable: docs/protocols/environment.md.
struct Thresholds {
  double clock_seconds = 2;      ///< MUSTER_PREFLIGHT_CLOCK_SECONDS
  double disk_gib = 1;           ///< MUSTER_PREFLIGHT_DISK_GIB
  double memory_percent = 5;     ///< MUSTER_PREFLIGHT_MEMORY_PERCENT
  double bandwidth_ratio = 0.6;  ///< MUSTER_PREFLIGHT_BANDWIDTH_RATIO, of the others' median
  double latency_ratio = 3;      ///< MUSTER_PREFLIGHT_LATENCY_RATIO, of the others' median
  double latency_us = 200;       ///< MUSTER_PREFLIGHT_LATENCY_US: shorter ones are never reported
};
/// Error: `invalid_input`, naming the variable.
Result<Thresholds> thresholds_from(const Env& env);
/// The variable of the threshold that is called so in configurations ("clock_seconds" for
/// MUSTER_PREFLIGHT_CLOCK_SECONDS); none: there is no such threshold.
std::optional<std::string> threshold_variable(std::string_view name);

struct Finding {
  enum class Level { warning, error };
  Level level = Level::warning;    ///< `error`: the job's hosts can't work together.
  std::string kind;                ///< "clock", "disk", "name", "port", "bandwidth" ...
  std::vector<std::string> hosts;  ///< Who is odd.
  std::string text;                ///< One line for a person, which names them.
};
/// The kind of findings about the state of a host's GPUs.
inline constexpr const char* gpu_health_kind = "gpu_health";

/// The unusual values, errors first. The majority defines what is usual; without a majority, all
/// are named.
std::vector<Finding> judge(const std::vector<HostFacts>& hosts, const std::vector<PairFacts>& pairs,
                           const Thresholds& thresholds);

bool has_error(const std::vector<Finding>& findings);
Json to_json(const Finding& finding);

/// Tables of the hosts and of the pairs, where there are some.
std::string table_of(const std::vector<HostFacts>& hosts, const std::vector<PairFacts>& pairs);
/// "9.4 Gbit/s"; "35 µs", "1.2 ms".
std::string bandwidth_text(double bits_per_second);
std::string latency_text(double microseconds);
/// "algo-3 (node3)", or "node3" where the machine is called so, too.
std::string name_of(const HostFacts& facts);

}  // namespace muster::preflight
