#include "os/devices/cdi.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "base/yaml.h"

namespace muster::devices {
namespace {

constexpr std::size_t entries_max = 4096;  ///< In one list.
constexpr std::array versions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                 "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
/// Hosts without an image see the machine's own files there.
constexpr std::array shown_folders = {"/usr/",   "/opt/", "/lib/",  "/lib32/",
                                      "/lib64/", "/bin/", "/sbin/", "/libx32/"};

std::string got(const std::string& text) {
  constexpr std::size_t shown_max = 100;
  return ", got \"" + to_utf8(std::string_view(text).substr(0, shown_max)) + "\"";
}

/// Text of `object`; empty where it is missing.
Result<std::string> text_at(const Json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  return expected(where + name, "text");
}

/// A list of `object`; an empty one where it is missing.
Result<Json> list_at(const Json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return Json::array();
  if (!found->is_array() || found->size() > entries_max)
    return expected(where + name, "a list of at most " + std::to_string(entries_max) + " entries");
  return *found;
}

Result<Edits::Node> node_at(const Json& json, const std::string& where) {
  if (!json.is_object()) return expected(where, "an object");
  Edits::Node node;
  node.inside = TRY(text_at(json, "path", where + "."));
  node.outside = TRY(text_at(json, "hostPath", where + "."));
  if (node.outside.empty()) node.outside = node.inside;
  const std::string type = TRY(text_at(json, "type", where + "."));
  if (!type.empty() && type != "c" && type != "u")
    return expected(where + ".type", "c (hosts can only have character devices)" + got(type));
  const std::string permissions = TRY(text_at(json, "permissions", where + "."));
  const auto has = [&](char c) { return permissions.find(c) != std::string::npos; };
  if (!permissions.empty() && !(has('r') && has('w')))
    return expected(where + ".permissions",
                    "rw or rwm (hosts read and write the device)" + got(permissions));
  return node;
}

bool is_shown(const std::string& path) {
  return std::any_of(shown_folders.begin(), shown_folders.end(),
                     [&](const char* folder) { return path.starts_with(folder); });
}

Result<job::DeviceMount> mount_at(const Json& json, const std::string& where) {
  if (!json.is_object()) return expected(where, "an object");
  const std::string type = TRY(text_at(json, "type", where + "."));
  if (!type.empty() && type != "bind" && type != "none")
    return expected(where + ".type", "bind" + got(type));
  job::DeviceMount mount;
  mount.outside = TRY(text_at(json, "hostPath", where + "."));
  mount.inside = TRY(text_at(json, "containerPath", where + "."));
  mount.image_only = mount.outside == mount.inside && is_shown(mount.inside);
  return mount;
}

Result<void> add_variable(const Json& json, const std::string& where, Env& environment) {
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return expected(where, "NAME=VALUE" + got(text));
  environment[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

Result<Edits> edits_at(const Json& object, const std::string& where) {
  Edits edits;
  const auto found = object.find("containerEdits");
  if (found == object.end() || found->is_null()) return edits;
  const std::string here = where + "containerEdits";
  if (!found->is_object()) return expected(here, "an object");
  std::size_t number = 0;
  const auto numbered = [&](const char* list) {
    return here + "." + list + "[" + std::to_string(number++) + "]";
  };
  const Json nodes = TRY(list_at(*found, "deviceNodes", here + "."));
  for (const Json& node : nodes) edits.nodes.push_back(TRY(node_at(node, numbered("deviceNodes"))));
  number = 0;
  const Json mounts = TRY(list_at(*found, "mounts", here + "."));
  for (const Json& mount : mounts) edits.mounts.push_back(TRY(mount_at(mount, numbered("mounts"))));
  number = 0;
  const Json variables = TRY(list_at(*found, "env", here + "."));
  for (const Json& variable : variables)
    TRY(add_variable(variable, numbered("env"), edits.environment));
  const Json moved = TRY(list_at(*found, "netDevices", here + "."));
  if (!moved.empty())
    return expected(here + ".netDevices", "no entries, because each host has its own network");
  job::HostDevices given{.mounts = edits.mounts, .environment = edits.environment};
  for (const Edits::Node& node : edits.nodes) given.nodes.push_back({node.outside, node.inside});
  const Result<void> good = job::check(given);
  if (!good) return good.error().in(here);
  return edits;
}

bool is_device_name(std::string_view name) {
  const auto may_stand = [](char c) { return is_name_byte(c) || c == ':'; };
  return !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         std::all_of(name.begin(), name.end(), may_stand);
}

Result<CdiFile> file_from(const Json& json) {
  if (!json.is_object())
    return expected("the CDI file", "an object with cdiVersion, kind and devices");
  const std::string version = TRY(text_at(json, "cdiVersion", ""));
  if (std::find(versions.begin(), versions.end(), version) == versions.end())
    return expected("cdiVersion", "a string with a version from 0.3.0 to 1.1.0" + got(version));
  CdiFile file;
  file.kind = TRY(text_at(json, "kind", ""));
  const std::size_t slash = file.kind.find('/');
  const bool has_both = slash != std::string::npos && is_device_name(file.kind.substr(0, slash)) &&
                        is_device_name(file.kind.substr(slash + 1));
  if (!has_both) return expected("kind", "VENDOR/CLASS, e.g. nvidia.com/gpu" + got(file.kind));
  if (!is_gpu_kind(file.kind)) return file;  // Another device's matter, whatever it says.
  file.edits = TRY(edits_at(json, ""));
  const Json devices = TRY(list_at(json, "devices", ""));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string where = "devices[" + std::to_string(i) + "].";
    if (!devices[i].is_object()) return expected(where, "an object");
    const std::string name = TRY(text_at(devices[i], "name", where));
    if (!is_device_name(name))
      return expected(where + "name",
                      "letters and digits, with _ - . : only between them" + got(name));
    for (const CdiDevice& other : file.devices)
      if (other.name == name) return expected(where + "name", "unique names" + got(name));
    Edits edits = TRY(edits_at(devices[i], where));
    file.devices.push_back({name, std::move(edits)});
  }
  return file;
}

}  // namespace

bool is_gpu_kind(std::string_view kind) {
  return kind.ends_with("/gpu");
}

Result<CdiFile> read_cdi(std::string_view name, std::string_view text) {
  const bool is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
  const Json json = TRY(is_yaml ? parse_yaml(text) : parse_json(text));
  return file_from(json);
}

}  // namespace muster::devices
