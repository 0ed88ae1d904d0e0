#include "server/cloudwatch/usage_series.h"

#include <array>
#include <utility>

#include "server/cloudwatch/metric_series.h"

namespace muster::cloudwatch {
namespace {

constexpr std::chrono::milliseconds pause_min{1000};
constexpr std::array<std::pair<std::string_view, Measure>, 6> measures = {{
    {"processor", Measure::processor},
    {"memory", Measure::memory},
    {"disk-read", Measure::disk_read},
    {"disk-written", Measure::disk_written},
    {"network-in", Measure::net_in},
    {"network-out", Measure::net_out},
}};

/// The sample's number; -1: not known.
std::int64_t count_of(const store::HostSample& sample, Measure measure) {
  switch (measure) {
    case Measure::processor:
      return sample.processor;
    case Measure::memory:
      return sample.memory;
    case Measure::disk_read:
      return sample.disk_read;
    case Measure::disk_written:
      return sample.disk_written;
    case Measure::net_in:
      return sample.net_in;
    case Measure::net_out:
      return sample.net_out;
  }
  return -1;
}

}  // namespace

std::optional<Measure> measure_named(std::string_view name) {
  for (const auto& [known, measure] : measures)
    if (known == name) return measure;
  return std::nullopt;
}

std::optional<double> value_between(const store::HostSample& before, const store::HostSample& now,
                                    Measure measure) {
  const std::int64_t last = count_of(now, measure);
  if (last < 0) return std::nullopt;
  if (measure == Measure::memory) return static_cast<double>(last);
  const std::int64_t first = count_of(before, measure);
  const std::int64_t passed = (now.time - before.time).count();
  // If the use is less than before, the host was restarted.
  if (first < 0 || last < first || now.processor < before.processor || passed <= 0)
    return std::nullopt;
  const double grown = static_cast<double>(last - first);
  const double seconds = static_cast<double>(passed) / 1000;
  return (measure == Measure::processor ? grown / 1e6 : grown) / seconds;
}

std::optional<GpuMeasure> gpu_measure_named(std::string_view name) {
  if (name == "gpu-time") return GpuMeasure::time;
  if (name == "gpu-memory") return GpuMeasure::memory;
  return std::nullopt;
}

double value_of(const store::GpuSample& sample, GpuMeasure measure) {
  return measure == GpuMeasure::time ? sample.percent : static_cast<double>(sample.memory);
}

std::chrono::milliseconds usage_pause(UnixMillis first, UnixMillis now) {
  std::chrono::milliseconds pause = pause_min;
  while ((now - first) / pause > usage_samples_max) pause *= 2;
  return pause;
}

std::string usage_csv_head() {
  return "job,host,measure,time,value\r\n";
}

std::string usage_csv_line(std::string_view job, std::string_view host, std::string_view measure,
                           UnixMillis time, double value) {
  return csv_text(job) + "," + csv_text(host) + "," + csv_text(measure) + "," +
         number_text(static_cast<double>(time.count()) / 1000) + "," + number_text(value) + "\r\n";
}

}  // namespace muster::cloudwatch
