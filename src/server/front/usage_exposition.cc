#include "server/front/usage_exposition.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace muster::server {
namespace {

/// The value of a host or a GPU, divided by `unit`; negative: not known.
template <class Of>
struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::int64_t (*value)(const Of& of);
  double unit = 1;
};

using job::GpuUse;
using job::Usage;

constexpr std::array<Family<Usage>, 7> host_families = {{
    {"muster_host_cpu_seconds_total", "counter", "Processor time of a running job's host.",
     [](const Usage& of) -> std::int64_t { return of.processor_time.count(); }, 1e6},
    {"muster_host_memory_bytes", "gauge", "Memory that the host uses.",
     [](const Usage& of) { return of.memory_bytes; }},
    {"muster_host_processes", "gauge", "Processes of the host.",
     [](const Usage& of) { return of.processes; }},
    {"muster_host_network_received_bytes_total", "counter", "Bytes that the host received.",
     [](const Usage& of) { return of.network.in; }},
    {"muster_host_network_sent_bytes_total", "counter", "Bytes that the host sent.",
     [](const Usage& of) { return of.network.out; }},
    {"muster_host_disk_read_bytes_total", "counter", "Bytes that the host read from disks.",
     [](const Usage& of) { return of.disk.in; }},
    {"muster_host_disk_written_bytes_total", "counter", "Bytes that the host wrote to disks.",
     [](const Usage& of) { return of.disk.out; }},
}};

constexpr std::array<Family<GpuUse>, 7> gpu_families = {{
    {"muster_gpu_utilization_ratio", "gauge", "Share of time in which a program ran on the GPU.",
     [](const GpuUse& of) -> std::int64_t { return of.percent; }, 100},
    {"muster_gpu_memory_used_bytes", "gauge", "Memory of the GPU in use.",
     [](const GpuUse& of) { return of.percent < 0 ? -1 : of.memory_bytes; }},
    {"muster_gpu_memory_total_bytes", "gauge", "Memory of the GPU.",
     [](const GpuUse& of) { return of.state.memory_total_bytes; }},
    {"muster_gpu_power_watts", "gauge", "Power that the GPU draws.",
     [](const GpuUse& of) -> std::int64_t { return of.state.power_watts; }},
    {"muster_gpu_temperature_celsius", "gauge", "Temperature of the GPU.",
     [](const GpuUse& of) -> std::int64_t { return of.state.temperature_celsius; }},
    {"muster_gpu_sm_clock_mhz", "gauge", "Clock of the GPU's multiprocessors.",
     [](const GpuUse& of) -> std::int64_t { return of.state.sm_mhz; }},
    {"muster_gpu_memory_clock_mhz", "gauge", "Clock of the GPU's memory.",
     [](const GpuUse& of) -> std::int64_t { return of.state.memory_mhz; }},
}};

}  // namespace

void write_usage(Exposition& to,
                 const std::vector<std::pair<std::string, std::vector<job::HostUsage>>>& jobs) {
  for (const Family<Usage>& family : host_families) {
    to.family(family.name, family.type, family.help);
    for (const auto& [job, hosts] : jobs)
      for (const job::HostUsage& host : hosts)
        if (const std::int64_t value = family.value(host.usage); value >= 0)
          to.sample({{"job", job}, {"host", host.host}}, static_cast<double>(value) / family.unit);
  }
  const auto each_gpu = [&jobs](const auto& take) {
    for (const auto& [job, hosts] : jobs)
      for (const job::HostUsage& host : hosts)
        for (const GpuUse& gpu : host.usage.gpus)
          take(job, host.host, std::to_string(gpu.number), gpu);
  };
  for (const Family<GpuUse>& family : gpu_families) {
    to.family(family.name, family.type, family.help);
    each_gpu([&](const std::string& job, const std::string& host, const std::string& number,
                 const GpuUse& gpu) {
      if (const std::int64_t value = family.value(gpu); value >= 0)
        to.sample({{"job", job}, {"host", host}, {"gpu", number}},
                  static_cast<double>(value) / family.unit);
    });
  }
  to.family("muster_gpu_throttled", "gauge", "1 for each reason why the GPU's clocks are slow.");
  each_gpu([&](const std::string& job, const std::string& host, const std::string& number,
               const GpuUse& gpu) {
    for (const std::string_view reason : job::throttle_reasons(gpu.state.clock_reasons))
      to.sample({{"job", job}, {"host", host}, {"gpu", number}, {"reason", reason}}, 1);
  });
}

}  // namespace muster::server
