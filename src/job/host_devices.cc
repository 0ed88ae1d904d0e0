#include "job/host_devices.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

/// The devices of every host's /dev, which contains nothing of the machine's.
constexpr std::string_view own_nodes[] = {
    "/dev/console", "/dev/fd",     "/dev/full",   "/dev/mqueue",  "/dev/null",
    "/dev/ptmx",    "/dev/pts",    "/dev/random", "/dev/shm",     "/dev/stderr",
    "/dev/stdin",   "/dev/stdout", "/dev/tty",    "/dev/urandom", "/dev/zero"};
/// A mount there would cover what is muster's, the job's or the kernel's.
constexpr std::string_view closed_places[] = {"/dev",    "/proc",       "/sys",
                                              "/opt/ml", "/run/muster", "/tmp"};

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

bool is_in_any(std::string_view path, const auto& places) {
  return std::any_of(std::begin(places), std::end(places),
                     [path](std::string_view place) { return is_at_or_below(path, place); });
}

Json text_pairs(const Env& env) {
  Json json = Json::object();
  for (const auto& [name, value] : env) json.emplace(name, value);
  return json;
}

}  // namespace

bool is_plain_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.find('\0') != std::string_view::npos ||
      !is_utf8(path))
    return false;
  const std::vector<std::string> parts = split(path.substr(1), '/');
  return std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

Result<void> check(const HostDevices& devices) {
  for (const DeviceNode& node : devices.nodes) {
    if (!is_plain_path(node.outside)) return expected("devices.nodes.outside", "an absolute path");
    if (!is_plain_path(node.inside) || !node.inside.starts_with("/dev/") ||
        is_in_any(node.inside, own_nodes))
      return expected(
          "devices.nodes.inside",
          "a path below /dev that hosts do not already have, got \"" + to_utf8(node.inside) + "\"");
  }
  for (const DeviceMount& mount : devices.mounts) {
    if (!is_plain_path(mount.outside))
      return expected("devices.mounts.outside", "an absolute path");
    const bool is_library = is_at_or_below(mount.inside, driver_libraries_path);
    if (!is_plain_path(mount.inside) || (is_in_any(mount.inside, closed_places) && !is_library))
      return expected(
          "devices.mounts.inside",
          "an absolute path outside of /dev, /proc, /sys, /tmp, /opt/ml and /run/muster, "
          "got \"" +
              to_utf8(mount.inside) + "\"");
  }
  for (const auto& [name, value] : devices.environment) {
    if (name.empty() || name.find('=') != std::string::npos)
      return expected("devices.environment", "variable names");
    TRY(check_text("devices.environment", name));
    TRY(check_text("devices.environment", value));
  }
  return {};
}

Json to_json(const HostDevices& devices) {
  Json nodes = Json::array();
  for (const DeviceNode& node : devices.nodes)
    nodes.push_back({{"outside", node.outside},
                     {"inside", node.inside},
                     {"major", node.major},
                     {"minor", node.minor}});
  Json mounts = Json::array();
  for (const DeviceMount& mount : devices.mounts)
    mounts.push_back({{"outside", mount.outside},
                      {"inside", mount.inside},
                      {"images", mount.image_only ? "only" : "too"}});
  return Json{{"gpus", devices.gpus},
              {"nodes", nodes},
              {"mounts", mounts},
              {"environment", text_pairs(devices.environment)},
              {"memory_lock", devices.locks_memory ? "unlimited" : "limited"}};
}

Result<HostDevices> host_devices_from(const Json& json) {
  HostDevices devices;
  Fields fields(json, "devices");
  fields.text_list("gpus", devices.gpus);
  if (const Json* const nodes = fields.array("nodes"))
    for (const Json& each : *nodes) {
      Fields inner(each, "devices.nodes");
      DeviceNode& node = devices.nodes.emplace_back();
      inner.text("outside", node.outside, true);
      inner.text("inside", node.inside, true);
      inner.integer("major", node.major);
      inner.integer("minor", node.minor);
      fields.take(inner);
    }
  if (const Json* const mounts = fields.array("mounts"))
    for (const Json& each : *mounts) {
      Fields inner(each, "devices.mounts");
      DeviceMount& mount = devices.mounts.emplace_back();
      inner.text("outside", mount.outside, true);
      inner.text("inside", mount.inside, true);
      inner.choice("images", "too", "only", mount.image_only);
      fields.take(inner);
    }
  fields.texts("environment", devices.environment);
  fields.choice("memory_lock", "limited", "unlimited", devices.locks_memory);
  fields.no_others();
  if (fields.error()) return *fields.error();
  return devices;
}

}  // namespace muster::job
