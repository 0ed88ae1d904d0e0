#include "platform/places/slurm_cluster.h"

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "job/limits.h"
#include "job/preflight/judge.h"

namespace muster::places {
namespace {

constexpr std::string_view preflight_name = "preflight";

/// What one job asks for. False for a name that is none of Slurm's own settings.
bool set_site(slurm::Site& site, const std::string& name, const std::string& value) {
  if (name == "partition")
    site.partition = value;
  else if (name == "account")
    site.account = value;
  else if (name == "qos")
    site.qos = value;
  else
    return false;
  return true;
}

Result<void> set_hosts(slurm::Site& site, const std::string& value) {
  const std::optional<slurm::Hosts> hosts = slurm::hosts_from(value);
  if (!hosts)
    return expected("hosts", "light, container, apptainer or enroot, got '" + to_utf8(value) + "'");
  site.hosts = *hosts;
  return {};
}

/// "preflight", or "preflight_" and a threshold's name.
Result<void> set_preflight(slurm::Site& site, const std::string& name, const std::string& value) {
  if (name == preflight_name) {
    if (value != "off" && value != "light" && value != "full")
      return expected(name, "off, light or full, got '" + to_utf8(value) + "'");
    site.preflight["MUSTER_PREFLIGHT"] = value;
    return {};
  }
  const std::optional<std::string> variable =
      preflight::threshold_variable(name.substr(preflight_name.size() + 1));
  if (!variable) return fail(Errc::invalid_input, to_utf8(name) + ": unknown threshold");
  TRY(preflight::thresholds_from({{*variable, value}}));
  site.preflight[*variable] = value;
  return {};
}

Result<void> set_for_type(slurm::Site& site, const std::string& name, const std::string& value) {
  if (name == "hosts") return set_hosts(site, value);
  if (name == preflight_name || name.starts_with(std::string(preflight_name) + "_"))
    return set_preflight(site, name, value);
  if (name == "spares") {
    const std::optional<std::int64_t> number = parse_integer(value);
    if (!number || *number < 0 || *number > job::spares_max)
      return expected("spares", "a number from 0 to " + std::to_string(job::spares_max));
    site.spares = static_cast<int>(*number);
  } else if (!set_site(site, name, value)) {
    site.options.push_back("--" + name + (value.empty() ? "" : "=" + value));
  }
  return slurm::check(site);
}

Result<std::string> setting_text(const std::string& name, const Json& value) {
  if (name == "spares" && value.is_number_integer())
    return std::to_string(value.get<std::int64_t>());
  if (name.starts_with(preflight_name) && value.is_number()) return to_text(value);
  if (value.is_string()) return value.get<std::string>();
  if (value == Json(true)) return std::string();
  return fail(Errc::invalid_input, "expected a string, or true for an option without a value");
}

}  // namespace

Result<void> set(SlurmCluster& cluster, const std::string& name, const std::string& value) {
  if (name == "address") {
    cluster.addresses.push_back(value);
    return {};
  }
  std::string* const path = name == "sm"       ? &cluster.node_program
                            : name == "folder" ? &cluster.node_folder
                            : name == "shared" ? &cluster.shared
                                               : nullptr;
  if (path == nullptr) return set_for_type(cluster.site, name, value);
  if (!value.starts_with('/') || (name == "shared" && value.ends_with('/')))
    return expected(name, std::string("an absolute path on the nodes") +
                              (name == "shared" ? ", without a trailing '/'" : ""));
  *path = value;
  return {};
}

Result<SlurmCluster> slurm_cluster_from(const Json& json) {
  if (!json.is_object()) return fail(Errc::invalid_input, "expected an object");
  SlurmCluster cluster;
  for (const auto& [name, value] : json.items()) {
    if (name == "instance_types") continue;
    const Result<std::string> text = setting_text(name, value);
    if (!text) return text.error().in(name);
    TRY(set(cluster, name, *text));
  }
  const Json types = json.value("instance_types", Json::object());
  if (!types.is_object()) return expected("instance_types", "an object");
  for (const auto& [type, settings] : types.items()) {
    slurm::Site& site = cluster.sites[type] = cluster.site;
    if (!settings.is_object()) return expected("instance_types." + type, "an object");
    for (const auto& [name, value] : settings.items()) {
      const Result<std::string> text = setting_text(name, value);
      const Result<void> taken = text ? set_for_type(site, name, *text) : text.error();
      if (!taken) return taken.error().in("instance_types." + type + "." + name);
    }
  }
  return cluster;
}

}  // namespace muster::places
