#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/store/store.h"

namespace muster::cloudwatch {

/// A measure of a host's use of its machine, by name. Pure.
enum class Measure { processor, memory, disk_read, disk_written, net_in, net_out };
/// "processor", "memory", "disk-read", "disk-written", "network-in", "network-out".
std::optional<Measure> measure_named(std::string_view name);

/// The measure's value from `before` to `now`, two consecutive samples of one host. Memory: bytes;
/// processors: how many were busy on average; all others: bytes per second. None if it is unknown,
/// or if the host was restarted in between. Pure.
std::optional<double> value_between(const store::HostSample& before, const store::HostSample& now,
                                    Measure measure);

/// A measure of each of a host's GPUs, by name: "gpu-time", percent of the time that it was busy;
/// "gpu-memory", bytes. Pure.
enum class GpuMeasure { time, memory };
std::optional<GpuMeasure> gpu_measure_named(std::string_view name);
double value_of(const store::GpuSample& sample, GpuMeasure measure);

/// Approximate maximum number of samples per host.
inline constexpr std::int64_t usage_samples_max = 1000;
/// The pause between two samples of a job whose first sample was taken at `first`: one second,
/// doubled each time there were more than usage_samples_max. Pure.
std::chrono::milliseconds usage_pause(UnixMillis first, UnixMillis now);

/// The header line of the hosts' usage as CSV, and the line for one value; both end with CRLF.
/// Pure.
std::string usage_csv_head();
std::string usage_csv_line(std::string_view job, std::string_view host, std::string_view measure,
                           UnixMillis time, double value);

}  // namespace muster::cloudwatch
