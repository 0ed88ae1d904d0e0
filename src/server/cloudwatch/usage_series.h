#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/store/store.h"

namespace muster::cloudwatch {

/// What is told of a host's use of its machine, by name. Pure.
enum class Measure { processor, memory, disk_read, disk_written, net_in, net_out };
/// "processor", "memory", "disk-read", "disk-written", "network-in", "network-out".
std::optional<Measure> measure_named(std::string_view name);

/// The measure's value from `before` to `now`, two samples of one host one after the other: of the
/// memory its bytes; of processors how many were busy in the mean; of all others bytes a second.
/// None where it is not known, or the host began anew in between. Pure.
std::optional<double> value_between(const store::HostSample& before, const store::HostSample& now,
                                    Measure measure);

/// What is told of each of a host's GPUs, by name: "gpu-time", percent of the time that it worked;
/// "gpu-memory", bytes. Pure.
enum class GpuMeasure { time, memory };
std::optional<GpuMeasure> gpu_measure_named(std::string_view name);
double value_of(const store::GpuSample& sample, GpuMeasure measure);

/// How many samples a host has at most, about.
inline constexpr std::int64_t usage_samples_max = 1000;
/// How long to wait between two samples of a job whose first was taken at `first`: a second, and
/// twice as long each time there were more than usage_samples_max. Pure.
std::chrono::milliseconds usage_pause(UnixMillis first, UnixMillis now);

/// The head of what hosts used as CSV, and the line of a value; both end with CRLF. Pure.
std::string usage_csv_head();
std::string usage_csv_line(std::string_view job, std::string_view host, std::string_view measure,
                           UnixMillis time, double value);

}  // namespace muster::cloudwatch
