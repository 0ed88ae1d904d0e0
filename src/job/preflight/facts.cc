#include "job/preflight/facts.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::preflight {
namespace {

constexpr std::size_t text_bytes_max = 256;
constexpr std::size_t entries_max = 4096;  ///< A job's hosts, and more.
constexpr std::size_t pairs_max = 16;
constexpr double number_max = 1e18;

struct TextField {
  const char* name;
  std::string HostFacts::*value;
};
const TextField texts[] = {{"node", &HostFacts::node},
                           {"muster", &HostFacts::muster},
                           {"build", &HostFacts::build},
                           {"python", &HostFacts::python},
                           {"mpi", &HostFacts::mpi},
                           {"kernel", &HostFacts::kernel},
                           {"interface", &HostFacts::interface},
                           {"gpu_driver", &HostFacts::gpu_driver},
                           {"gpu_library", &HostFacts::gpu_library},
                           {"rdma", &HostFacts::rdma},
                           {"kernel_log", &HostFacts::kernel_log}};

struct NumberField {
  const char* name;
  std::int64_t HostFacts::*value;
};
const NumberField numbers[] = {{"clock_unix_ms", &HostFacts::clock_unix_ms},
                               {"disk_free_bytes", &HostFacts::disk_free_bytes},
                               {"disk_bytes", &HostFacts::disk_bytes},
                               {"memory_free_bytes", &HostFacts::memory_free_bytes},
                               {"memory_bytes", &HostFacts::memory_bytes},
                               {"mtu", &HostFacts::mtu},
                               {"port", &HostFacts::port}};

Error misfit(const std::string& what) {
  return fail(Errc::protocol, "preflight: invalid information about a host: " + what);
}

std::string bounded(const Json& value) {
  return to_utf8(value.get<std::string>().substr(0, text_bytes_max));
}

Result<std::vector<std::string>> list_from(const std::string& name, const Json& value) {
  if (!value.is_array() || value.size() > entries_max) return misfit(name + " is not a list");
  std::vector<std::string> list;
  for (const Json& each : value) {
    if (!each.is_string()) return misfit("\"" + name + "\" contains an item that is not a string");
    list.push_back(bounded(each));
  }
  return list;
}

Result<void> read_texts(const Json& json, HostFacts& facts) {
  for (const TextField& field : texts) {
    const auto found = json.find(field.name);
    if (found == json.end()) continue;
    if (!found->is_string()) return misfit("\"" + std::string(field.name) + "\" is not a string");
    facts.*field.value = bounded(*found);
  }
  return {};
}

Result<void> read_numbers(const Json& json, HostFacts& facts) {
  for (const NumberField& field : numbers) {
    const auto found = json.find(field.name);
    if (found == json.end()) continue;
    const bool fits = found->is_number_integer() && found->get<double>() >= 0 &&
                      found->get<double>() <= number_max;
    if (!fits) return misfit(std::string(field.name) + " is out of range");
    facts.*field.value = found->get<std::int64_t>();
  }
  if (facts.port > 65535) return misfit("port is out of range");
  return {};
}

Result<double> measure_from(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return 0.0;
  const bool fits =
      found->is_number() && found->get<double>() >= 0 && found->get<double>() <= number_max;
  if (!fits) return misfit(std::string(name) + " is out of range");
  return found->get<double>();
}

Result<PairFacts> pair_from(const Json& json) {
  if (!json.is_object()) return misfit("a pair is not an object");
  PairFacts pair;
  for (const auto& [name, value] : {std::pair("from", &pair.from), std::pair("to", &pair.to),
                                    std::pair("error", &pair.error)}) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    if (!found->is_string()) return misfit("\"" + std::string(name) + "\" is not a string");
    *value = bounded(*found);
  }
  pair.latency_us = TRY(measure_from(json, "latency_us"));
  pair.bits_per_second = TRY(measure_from(json, "bits_per_second"));
  return pair;
}

}  // namespace

Json to_json(const HostFacts& facts) {
  Json json = Json::object();
  for (const TextField& field : texts) json[field.name] = facts.*field.value;
  for (const NumberField& field : numbers) json[field.name] = facts.*field.value;
  json["addresses"] = facts.addresses;
  json["gpus"] = facts.gpus;
  json["gpu_troubles"] = facts.gpu_troubles;
  json["packages"] = facts.packages;
  json["interfaces"] = facts.interfaces;
  json["names"] = facts.names;
  return json;
}

Json to_json(const PairFacts& pair) {
  Json json = {{"from", pair.from}, {"to", pair.to}};
  if (pair.latency_us > 0) json["latency_us"] = pair.latency_us;
  if (pair.bits_per_second > 0) json["bits_per_second"] = pair.bits_per_second;
  if (!pair.error.empty()) json["error"] = pair.error;
  return json;
}

Result<HostFacts> host_facts_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  if (!json.is_object()) return misfit("it is not an object");
  HostFacts facts;
  TRY(read_texts(json, facts));
  TRY(read_numbers(json, facts));
  if (json.contains("addresses")) facts.addresses = TRY(list_from("addresses", json["addresses"]));
  if (json.contains("gpus")) facts.gpus = TRY(list_from("gpus", json["gpus"]));
  if (json.contains("gpu_troubles"))
    facts.gpu_troubles = TRY(list_from("gpu_troubles", json["gpu_troubles"]));
  for (const char* name : {"packages", "names", "interfaces"})
    if (json.contains(name) && (!json[name].is_object() || json[name].size() > entries_max))
      return misfit(std::string(name) + " is not an object");
  if (json.contains("packages"))
    for (const auto& [name, version] : json["packages"].items()) {
      if (!version.is_string()) return misfit("a package's version is not a string");
      facts.packages[bounded(name)] = bounded(version);
    }
  for (const auto& [field, value] :
       {std::pair("names", &facts.names), std::pair("interfaces", &facts.interfaces)})
    if (json.contains(field))
      for (const auto& [name, addresses] : json[field].items())
        (*value)[bounded(name)] = TRY(list_from(field, addresses));
  return facts;
}

Result<std::vector<PairFacts>> pairs_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  if (!json.is_array() || json.size() > pairs_max) return misfit("the list of pairs is missing");
  std::vector<PairFacts> pairs;
  for (const Json& each : json) pairs.push_back(TRY(pair_from(each)));
  return pairs;
}

}  // namespace muster::preflight
