#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::job {

/// Bytes that went each way since a host's start; -1: not known.
struct Flow {
  std::int64_t in = -1;
  std::int64_t out = -1;

  bool operator==(const Flow&) const = default;
};

/// What a GPU's driver last reported of it; -1: it reports none.
struct GpuState {
  std::int64_t memory_total_bytes = -1;
  int power_watts = -1;
  int temperature_celsius = -1;
  int sm_mhz = -1;
  int memory_mhz = -1;
  std::int64_t clock_reasons = -1;  ///< Bits of NVML's clocks event reasons: throttle_reasons().

  bool operator==(const GpuState&) const = default;
};

/// Bytes a second through a GPU's connections, as its driver last reported; -1: it reports none, or
/// nobody looks.
struct GpuTraffic {
  std::int64_t pcie_in = -1;
  std::int64_t pcie_out = -1;
  std::int64_t nvlink_in = -1;  ///< All its links together.
  std::int64_t nvlink_out = -1;

  bool operator==(const GpuTraffic&) const = default;
};

/// What a GPU was used for, in the mean since it was asked before.
struct GpuUse {
  int number = 0;    ///< As the machine counts: N of /dev/nvidiaN.
  int percent = -1;  ///< Time in which some program ran on it; -1: the driver has not reported yet.
  std::int64_t memory_bytes = 0;  ///< The most.
  GpuState state{};
  GpuTraffic traffic{};

  bool operator==(const GpuUse&) const = default;
};

/// Why a card runs more slowly than it could, by the names that `nvidia-smi --help-query-gpu` has
/// for them: "sw_power_cap". Idle clocks, set clocks and displays are no reasons. A general reason
/// is left out if its cause is there. Pure. Source: NVML's nvmlClocksEventReasons.
std::vector<std::string_view> throttle_reasons(std::int64_t clock_reasons);

/// What a host uses of its machine.
struct Usage {
  std::int64_t memory_bytes = 0;                ///< Without files' pages that were not used lately.
  std::chrono::microseconds processor_time{0};  ///< All the host's processes', since its start.
  std::int64_t processes = 0;
  Flow disk{};     ///< `in`: read from disks, `out`: written to them; no page cache's.
  Flow network{};  ///< Through the interfaces of the host; not known where it has the machine's.
  std::vector<GpuUse> gpus{};  ///< The host's own GPUs, if muster can tell which these are.

  bool operator==(const Usage&) const = default;
};

/// docs/protocols/node-link.md, "usage". Pure.
Json to_json(const Usage& usage);
/// Error: `protocol`, with the name of the message that it is in.
Result<Usage> usage_from_json(const char* message, const Json& json);

/// What a host used at a moment of the wall clock.
struct HostUsage {
  std::string host;
  UnixMillis time{0};
  Usage usage;

  bool operator==(const HostUsage&) const = default;
};

/// {host, time, usage}: docs/protocols/job-record.md. Pure.
Json to_json(const HostUsage& host);
/// Errors: `protocol`.
Result<HostUsage> host_usage_from_json(const Json& json);
Result<HostUsage> host_usage_from(std::string_view payload);

/// The running hosts of a job: {job, hosts}, with the names of `clock_reasons`. Pure.
Json to_json(const std::string& job, const std::vector<HostUsage>& hosts);
/// The hosts of such a job. Error: `protocol`.
Result<std::vector<HostUsage>> job_usage_from_json(const Json& json);

}  // namespace muster::job
