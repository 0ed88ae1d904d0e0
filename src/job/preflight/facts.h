#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace muster::preflight {

// What the hosts of a job report about themselves and each other before the job runs. Values only:
// collect.h collects them, judge.h compares them. Source: docs/protocols/preflight.md.

/// One host's machine, as the host says.
struct HostFacts {
  std::string host;  ///< The job's name for it; the leader's word, not the host's.
  std::string node;  ///< What the machine calls itself.
  std::int64_t clock_unix_ms = 0;
  std::int64_t clock_ahead_ms = 0;   ///< Ahead of the leader's; its word.
  std::int64_t disk_free_bytes = 0;  ///< Where the job's files are.
  std::int64_t disk_bytes = 0;
  std::int64_t memory_free_bytes = 0;  ///< Available without swapping.
  std::int64_t memory_bytes = 0;
  std::string muster;  ///< The version of `sm`.
  std::string build;   ///< The ELF build id; empty: not known.
  std::string python;  ///< "3.11.2"; empty: none found.
  std::string mpi;     ///< The file of the MPI library; empty: none found.
  std::string kernel;
  std::string interface;  ///< The one that the host is to use; it may not be there.
  std::string gpu_driver;
  std::string gpu_library{};              ///< The version of libcuda; empty: not known.
  std::string rdma{};                     ///< Ports that are up: "8 x 400 Gb/sec (4X NDR)".
  std::string kernel_log{};               ///< Why GPU errors in it cannot be read; empty: they can.
  std::int64_t mtu = 0;                   ///< 0: not known.
  std::vector<std::string> addresses;     ///< Numeric: of `interface` first, then the others.
  std::vector<std::string> gpus;          ///< One a GPU: its model.
  std::vector<std::string> gpu_troubles;  ///< "GPU 3 needs recovery: Reset"
  std::map<std::string, std::string> packages;  ///< Name to version.
  /// Each interface that is up, the loopback too: its addresses, as "10.0.0.1/24".
  std::map<std::string, std::vector<std::string>> interfaces;
  std::map<std::string, std::vector<std::string>> names;  ///< What each host's name means there.
  std::int64_t port = 0;  ///< Where it listens for measurements; 0: nowhere.

  bool operator==(const HostFacts&) const = default;
};

/// What one host measured of the way between two of them.
struct PairFacts {
  std::string from;  ///< Who connects or sends.
  std::string to;
  double latency_us = 0;       ///< The median round trip; 0: not measured.
  double bits_per_second = 0;  ///< What arrived at `to`; 0: not measured.
  std::string error;           ///< Why nothing passed; empty: it did.

  bool operator==(const PairFacts&) const = default;
};

Json to_json(const HostFacts& facts);
Json to_json(const PairFacts& pair);
/// What another host says is bounded: texts are cut, lists and numbers out of range are refused.
/// Error: `protocol`.
Result<HostFacts> host_facts_from(std::string_view payload);
Result<std::vector<PairFacts>> pairs_from(std::string_view payload);

}  // namespace muster::preflight
