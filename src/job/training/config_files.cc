#include "job/training/config_files.h"

#include <algorithm>
#include <set>

#include "base/fields.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::job {
namespace {

Result<PyValue> read_object(const std::string& text, const std::string& path) {
  if (!is_utf8(text)) return expected(path, "UTF-8");
  Result<PyValue> value = python_loads(text);
  if (!value) return value.error().in(path);
  if (!value->is_dict()) return expected(path, "a JSON object");
  return value;
}

/// Host names go into /etc/hosts, into mpirun's lists and into tags.
bool is_host_name(const std::string& name) {
  return !name.empty() && name.size() <= 253 && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_name_byte);
}

Result<std::vector<std::string>> host_list(const PyValue* list, const std::string& where) {
  const Error no_list = expected(where, "a list of host names");
  if (list == nullptr || !list->is_list()) return no_list;
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const PyValue& item : list->items) {
    if (!item.is_text() || !is_host_name(item.text)) return no_list;
    if (!seen.insert(item.text).second)
      return fail(Errc::invalid_input, where + ": host " + item.text + " appears twice");
    hosts.push_back(item.text);
  }
  return hosts;
}

/// A text member; `standard` where it is missing or null.
Result<std::string> text_member(const PyValue& object, const char* name,
                                const std::string& standard, const std::string& path) {
  const PyValue* value = object.find(name);
  if (value == nullptr || value->is_null()) return standard;
  if (value->is_text()) return value->text;
  return expected(path + ": \"" + name + "\"", "a string");
}

Result<std::vector<InstanceGroup>> group_list(const PyValue& source, const std::string& path) {
  std::vector<InstanceGroup> groups;
  const PyValue* list = source.find("instance_groups");
  if (list == nullptr || list->is_null()) return groups;
  if (!list->is_list()) return expected(path + ": \"instance_groups\"", "a list");
  for (const PyValue& item : list->items) {
    const PyValue* name = item.is_dict() ? item.find("instance_group_name") : nullptr;
    if (name == nullptr || !name->is_text())
      return expected(path + ": \"instance_groups\"", "objects with \"instance_group_name\"");
    // Not inside the braces below: a return out of an initializer leaks what it made by then.
    std::vector<std::string> hosts = TRY(host_list(
        item.find("hosts"), path + ": \"instance_groups\": " + name->text + ": \"hosts\""));
    groups.push_back({name->text, std::move(hosts), item});
  }
  return groups;
}

PyValue one_host(const std::string& host) {
  PyValue source = PyValue::new_dict();
  source.set("current_host", PyValue::of_text(host));
  source.set("hosts", PyValue::of_list({host}));
  return source;
}

}  // namespace

Result<PyValue> read_hyperparameters(const std::optional<std::string>& text,
                                     const std::string& path) {
  if (!text) return PyValue::new_dict();
  PyValue all = TRY(read_object(*text, path));
  for (PyValue::Member& member : all.members) {
    if (!member.second.is_text()) continue;
    Result<PyValue> decoded = python_loads(member.second.text);
    if (decoded) {
      member.second = *std::move(decoded);
    } else if (decoded.error().text.find("256 levels") != std::string::npos) {
      return decoded.error().in(path + ": hyperparameter " + member.first);
    }
  }
  return all;
}

Result<ResourceConfig> read_resource_config(const std::optional<std::string>& text,
                                            const std::string& path, const std::string& host_name) {
  return resource_config_from(text ? TRY(read_object(*text, path))
                                   : one_host(is_host_name(host_name) ? host_name : "algo-1"),
                              path);
}

Result<ResourceConfig> resource_config_from(PyValue from, const std::string& path) {
  ResourceConfig config;
  config.source = std::move(from);
  const PyValue& source = config.source;
  config.hosts = TRY(host_list(source.find("hosts"), path + ": \"hosts\""));
  if (config.hosts.empty()) return expected(path + ": \"hosts\"", "at least one host");
  const PyValue* current = source.find("current_host");
  if (current == nullptr || !current->is_text())
    return expected(path + ": \"current_host\"", "the name of this host");
  config.current_host = current->text;
  if (std::count(config.hosts.begin(), config.hosts.end(), config.current_host) == 0)
    return fail(Errc::invalid_input,
                path + ": \"current_host\": " + config.current_host + " is not one of \"hosts\"");
  config.instance_type = TRY(text_member(source, "current_instance_type", "local", path));
  config.group = TRY(text_member(source, "current_group_name", "", path));
  config.interface = TRY(text_member(source, "network_interface_name", "eth0", path));
  config.groups = TRY(group_list(source, path));
  const PyValue* topology = source.find("topology");
  config.topology = topology == nullptr ? PyValue::new_list() : *topology;
  return config;
}

Result<PyValue> read_channels(const std::optional<std::string>& text, const std::string& path) {
  if (!text) return PyValue::new_dict();
  return channels_from(TRY(read_object(*text, path)), path);
}

Result<PyValue> channels_from(PyValue channels, const std::string& path) {
  for (const PyValue::Member& member : channels.members)
    if (member.first.empty() || member.first == "." || member.first == ".." ||
        member.first.find_first_of(std::string("/\0", 2)) != std::string::npos)
      return expected(path + ": channel \"" + member.first + "\"", "the name of a folder");
  return channels;
}

}  // namespace muster::job
