#include "server/front/usage_exposition.h"

#include <doctest/doctest.h>

namespace muster::server {
namespace {

TEST_CASE("metrics: hosts and GPUs of running jobs, without what is not known") {
  job::HostUsage host{.host = "algo-1",
                      .usage = {.memory_bytes = 7,
                                .processor_time = std::chrono::milliseconds(1500),
                                .processes = 3,
                                .disk = {1, 2}}};
  host.usage.gpus = {{3, 97, 5, {80, 412, 61, 1980, 2619, 0x4 | 0x40}}, {.number = 4}};
  Exposition to;
  write_usage(to, {{"demo", {host}}, {"waits", {}}});
  for (const char* line :
       {"# TYPE muster_host_cpu_seconds_total counter\n"
        "muster_host_cpu_seconds_total{job=\"demo\",host=\"algo-1\"} 1.5\n# HELP",
        "muster_host_memory_bytes{job=\"demo\",host=\"algo-1\"} 7\n",
        "muster_host_disk_written_bytes_total{job=\"demo\",host=\"algo-1\"} 2\n",
        "# TYPE muster_host_network_received_bytes_total counter\n# HELP",
        "muster_gpu_utilization_ratio{job=\"demo\",host=\"algo-1\",gpu=\"3\"} 0.97\n# HELP",
        "muster_gpu_memory_used_bytes{job=\"demo\",host=\"algo-1\",gpu=\"3\"} 5\n# HELP",
        "muster_gpu_power_watts{job=\"demo\",host=\"algo-1\",gpu=\"3\"} 412\n# HELP",
        "muster_gpu_throttled{job=\"demo\",host=\"algo-1\",gpu=\"3\",reason=\"sw_power_cap\"} 1\n",
        "gpu=\"3\",reason=\"hw_thermal_slowdown\"} 1\n"}) {
    CAPTURE(line);
    CHECK(to.text().find(line) != std::string::npos);
  }
  CHECK(to.text().find("gpu=\"4\"") == std::string::npos);
}

TEST_CASE("metrics: no name of a job or a host begins a line, or ends a label") {
  const std::string name = "x\"} 1\nmuster_up 0\n# TYPE muster_host_memory_bytes \\";
  Exposition to;
  write_usage(to, {{name, {{.host = name, .usage = {.memory_bytes = 7}}}}});
  const std::string label = R"(x\"} 1\nmuster_up 0\n# TYPE muster_host_memory_bytes \\)";
  CHECK(to.text().find("muster_host_memory_bytes{job=\"" + label + "\",host=\"" + label +
                       "\"} 7\n") != std::string::npos);
  CHECK(to.text().find("\nmuster_up") == std::string::npos);
}

}  // namespace
}  // namespace muster::server
