#include "job/wire/usage.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "job/spec_fields.h"

namespace muster::job {
namespace {

/// Beyond what any host has used of anything; sums and differences of such numbers are numbers.
constexpr std::int64_t used_max = std::int64_t{1} << 60;
constexpr std::size_t gpus_max = 64;  // A node's.
constexpr std::int64_t gpu_number_max = 9999;
constexpr std::int64_t watts_max = 100'000;
constexpr std::int64_t celsius_max = 1000;
constexpr std::int64_t mhz_max = 1'000'000;
constexpr std::size_t hosts_max = 10'000;
constexpr std::size_t host_bytes_max = 255;

constexpr std::int64_t hw_slowdown = 0x08;
constexpr std::int64_t hw_causes = 0x40 | 0x80;
constexpr std::array<std::pair<std::int64_t, std::string_view>, 6> reasons = {{
    {0x04, "sw_power_cap"},
    {hw_slowdown, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
}};

/// Only what is known, so that a message of a host without a driver stays short.
Json to_json(const GpuUse& gpu) {
  Json json{{"number", gpu.number}, {"percent", gpu.percent}, {"memory", gpu.memory_bytes}};
  const auto add = [&json](const char* name, std::int64_t value) {
    if (value >= 0) json[name] = value;
  };
  add("memory_total", gpu.state.memory_total_bytes);
  add("watts", gpu.state.power_watts);
  add("celsius", gpu.state.temperature_celsius);
  add("sm_mhz", gpu.state.sm_mhz);
  add("memory_mhz", gpu.state.memory_mhz);
  add("clock_reasons", gpu.state.clock_reasons);
  add("pcie_in", gpu.traffic.pcie_in);
  add("pcie_out", gpu.traffic.pcie_out);
  add("nvlink_in", gpu.traffic.nvlink_in);
  add("nvlink_out", gpu.traffic.nvlink_out);
  return json;
}

Result<std::int64_t> known_at(const char* message, const Json& json, const char* name,
                              std::int64_t most) {
  if (!json.contains(name)) return std::int64_t{-1};
  return integer_at(message, json, name, -1, most);
}

Result<GpuTraffic> gpu_traffic_from(const char* message, const Json& json) {
  return GpuTraffic{TRY(known_at(message, json, "pcie_in", used_max)),
                    TRY(known_at(message, json, "pcie_out", used_max)),
                    TRY(known_at(message, json, "nvlink_in", used_max)),
                    TRY(known_at(message, json, "nvlink_out", used_max))};
}

Result<GpuState> gpu_state_from(const char* message, const Json& json) {
  const auto at = [&](const char* name, std::int64_t most) {
    return known_at(message, json, name, most);
  };
  GpuState state;
  state.memory_total_bytes = TRY(at("memory_total", used_max));
  state.power_watts = static_cast<int>(TRY(at("watts", watts_max)));
  state.temperature_celsius = static_cast<int>(TRY(at("celsius", celsius_max)));
  state.sm_mhz = static_cast<int>(TRY(at("sm_mhz", mhz_max)));
  state.memory_mhz = static_cast<int>(TRY(at("memory_mhz", mhz_max)));
  state.clock_reasons = TRY(at("clock_reasons", used_max));
  return state;
}

Result<std::vector<GpuUse>> gpus_from(const char* message, const Json& all) {
  if (!all.is_array() || all.size() > gpus_max)
    return invalid_message(message, "\"gpus\" is not a list, or is too long");
  std::vector<GpuUse> gpus;
  std::set<int> numbers;  // With a number twice, /metrics would be invalid.
  for (const Json& each : all) {
    if (!each.is_object())
      return invalid_message(message, "\"gpus\" contains an item that is not an object");
    gpus.push_back({static_cast<int>(TRY(integer_at(message, each, "number", 0, gpu_number_max))),
                    static_cast<int>(TRY(integer_at(message, each, "percent", -1, 100))),
                    TRY(integer_at(message, each, "memory", 0, used_max)),
                    TRY(gpu_state_from(message, each)), TRY(gpu_traffic_from(message, each))});
    if (!numbers.insert(gpus.back().number).second)
      return invalid_message(message, "\"gpus\" contains the same number twice");
  }
  return gpus;
}

}  // namespace

std::vector<std::string_view> throttle_reasons(std::int64_t clock_reasons) {
  std::vector<std::string_view> names;
  if (clock_reasons < 0) return names;
  for (const auto& [bit, name] : reasons) {
    const bool is_named_by_cause = bit == hw_slowdown && (clock_reasons & hw_causes) != 0;
    if ((clock_reasons & bit) != 0 && !is_named_by_cause) names.push_back(name);
  }
  return names;
}

Json to_json(const Usage& usage) {
  Json gpus = Json::array();
  for (const GpuUse& each : usage.gpus) gpus.push_back(to_json(each));
  return {{"memory", usage.memory_bytes},   {"processor_us", usage.processor_time.count()},
          {"processes", usage.processes},   {"disk_read", usage.disk.in},
          {"disk_written", usage.disk.out}, {"net_in", usage.network.in},
          {"net_out", usage.network.out},   {"gpus", std::move(gpus)}};
}

Result<Usage> usage_from_json(const char* message, const Json& json) {
  if (!json.is_object()) return invalid_message(message, "missing field usage");
  const auto at = [&](const char* name, std::int64_t least) {
    return integer_at(message, json, name, least, used_max);
  };
  Usage usage;
  usage.memory_bytes = TRY(at("memory", 0));
  usage.processor_time = std::chrono::microseconds(TRY(at("processor_us", 0)));
  usage.processes = TRY(at("processes", 0));
  usage.disk.in = TRY(at("disk_read", -1));
  usage.disk.out = TRY(at("disk_written", -1));
  usage.network.in = TRY(at("net_in", -1));
  usage.network.out = TRY(at("net_out", -1));
  usage.gpus = TRY(gpus_from(message, json.value("gpus", Json::array())));
  return usage;
}

Json to_json(const HostUsage& host) {
  return {{"host", host.host}, {"time", host.time.count()}, {"usage", to_json(host.usage)}};
}

Result<HostUsage> host_usage_from_json(const Json& json) {
  constexpr const char* message = "usage";
  if (!json.is_object() || !json.contains("host") || !json["host"].is_string() ||
      json["host"].get_ref<const std::string&>().size() > host_bytes_max)
    return invalid_message(message, "missing field host");
  HostUsage host{.host = json["host"].get<std::string>(), .usage = {}};
  host.time = UnixMillis(TRY(integer_at(message, json, "time", 0, used_max)));
  host.usage = TRY(usage_from_json(message, json.value("usage", Json())));
  return host;
}

Result<HostUsage> host_usage_from(std::string_view payload) {
  const Json json = TRY(object_from("usage", payload));
  return host_usage_from_json(json);
}

Json to_json(const std::string& job, const std::vector<HostUsage>& hosts) {
  Json json = {{"job", job}};
  Json& list = json["hosts"] = Json::array();
  for (const HostUsage& host : hosts) {
    Json& told = list.emplace_back(to_json(host));
    for (std::size_t i = 0; i < host.usage.gpus.size(); ++i) {
      const std::int64_t bits = host.usage.gpus[i].state.clock_reasons;
      if (bits < 0) continue;
      Json& names = told["usage"]["gpus"][i]["throttled"] = Json::array();
      for (const std::string_view name : throttle_reasons(bits)) names.push_back(std::string(name));
    }
  }
  return json;
}

Result<std::vector<HostUsage>> job_usage_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("hosts") || !json["hosts"].is_array() ||
      json["hosts"].size() > hosts_max)
    return invalid_message("usage", "expected an object with the fields job and hosts");
  std::vector<HostUsage> hosts;
  for (const Json& each : json["hosts"]) hosts.push_back(TRY(host_usage_from_json(each)));
  return hosts;
}

}  // namespace muster::job
