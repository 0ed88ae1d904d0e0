#include "job/spec_groups.h"

#include <limits>

#include "base/text.h"

namespace muster::job {
namespace {

constexpr std::size_t groups_max = 5;  // The API's limit, as the next one.
constexpr std::size_t name_bytes_max = 64;

/// A resource of a group's hosts, as in muster's own part of a specification.
struct Resource {
  const char* field;
  std::int64_t most;
  std::int64_t (*get)(const HostGroup& group);
  void (*set)(HostGroup& group, std::int64_t amount);
};
constexpr Resource resources[] = {
    {"GroupMemoryBytes", std::numeric_limits<std::int64_t>::max(),
     [](const HostGroup& group) { return group.memory_bytes; },
     [](HostGroup& group, std::int64_t amount) { group.memory_bytes = amount; }},
    {"GroupCpuMillis", cpu_millis_max, [](const HostGroup& group) { return group.cpu_millis; },
     [](HostGroup& group, std::int64_t amount) { group.cpu_millis = amount; }},
    {"GroupGpus", gpus_max, [](const HostGroup& group) { return std::int64_t{group.gpus}; },
     [](HostGroup& group, std::int64_t amount) { group.gpus = static_cast<int>(amount); }},
};

/// K of "algo-K"; 0 for other names.
std::int64_t number_of(const std::string& host) {
  const std::size_t dash = host.rfind('-');
  return dash == std::string::npos ? 0 : parse_integer(host.substr(dash + 1)).value_or(0);
}

bool names(const InputChannel& channel, const HostGroup& group) {
  return std::find(channel.s3.groups.begin(), channel.s3.groups.end(), group.name) !=
         channel.s3.groups.end();
}

Result<void> check_channel(const Spec& spec, const InputChannel& channel) {
  for (const std::string& name : channel.s3.groups)
    if (std::none_of(spec.groups.begin(), spec.groups.end(),
                     [&](const HostGroup& group) { return group.name == name; }))
      return expected(
          "InputDataConfig[" + channel.name + "].DataSource.S3DataSource.InstanceGroupNames",
          "names of groups in ResourceConfig.InstanceGroups, got \"" + to_utf8(name) + "\"");
  return {};
}

}  // namespace

const HostGroup* group_of(const Spec& spec, const std::string& host) {
  std::int64_t number = number_of(host);
  if (number < 1) return nullptr;
  for (const HostGroup& group : spec.groups) {
    if (number <= group.count) return &group;
    number -= group.count;
  }
  return nullptr;
}

int gpus_of(const Spec& spec, const std::string& host) {
  const HostGroup* const group = group_of(spec, host);
  return group == nullptr ? spec.gpus : group->gpus;
}

std::int64_t memory_of(const Spec& spec, const std::string& host) {
  const HostGroup* const group = group_of(spec, host);
  return group == nullptr ? spec.memory_bytes : group->memory_bytes;
}

std::int64_t cpu_millis_of(const Spec& spec, const std::string& host) {
  const HostGroup* const group = group_of(spec, host);
  return group == nullptr ? spec.cpu_millis : group->cpu_millis;
}

std::vector<std::string> hosts_of(const Spec& spec, const HostGroup& group) {
  std::vector<std::string> hosts;
  for (const std::string& host : host_names(spec.instance_count))
    if (group_of(spec, host) == &group) hosts.push_back(host);
  return hosts;
}

bool has_channel(const Spec& spec, const std::string& host, const InputChannel& channel) {
  if (channel.s3.groups.empty()) return true;
  const HostGroup* const group = group_of(spec, host);
  return group != nullptr && names(channel, *group);
}

Result<void> check_groups(const Spec& spec) {
  const std::string field = "ResourceConfig.InstanceGroups";
  if (spec.groups.size() > groups_max) return expected(field, "at most 5 groups");
  std::int64_t hosts = 0;
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const HostGroup& group = spec.groups[i];
    const std::string where = field + "[" + std::to_string(i) + "].";
    TRY(check_text(where + "InstanceGroupName", group.name));
    TRY(check_text(where + "InstanceType", group.type));
    if (group.name.empty() || group.name.size() > name_bytes_max)
      return expected(where + "InstanceGroupName", "1 to 64 bytes");
    if (group.count < 1) return expected(where + "InstanceCount", "at least 1");
    if (group.memory_bytes != 0 && group.memory_bytes < memory_bytes_min)
      return expected("Muster.GroupMemoryBytes", "0 (no limit) or at least 8388608");
    if (!is_cpu_limit(group.cpu_millis))
      return expected("Muster.GroupCpuMillis", "0 (no limit), or 10 to 1000000");
    if (group.gpus < 0 || group.gpus > gpus_max) return expected("Muster.GroupGpus", "0 to 1024");
    for (std::size_t j = 0; j < i; ++j)
      if (spec.groups[j].name == group.name)
        return expected(where + "InstanceGroupName",
                        "unique names, but this one appears twice: " + to_utf8(group.name));
    hosts += group.count;
  }
  if (!spec.groups.empty() && hosts != spec.instance_count)
    return expected(field, "groups with InstanceCount hosts in total");
  for (const InputChannel& channel : spec.input) TRY(check_channel(spec, channel));
  return {};
}

Json groups_json(const std::vector<HostGroup>& groups) {
  Json list = Json::array();
  for (const HostGroup& group : groups)
    list.push_back({{"InstanceGroupName", group.name},
                    {"InstanceType", group.type},
                    {"InstanceCount", group.count}});
  return list;
}

void add_group_resources(const std::vector<HostGroup>& groups, Json& own) {
  for (const Resource& resource : resources) {
    Json list = Json::array();
    for (const HostGroup& group : groups) list.push_back(resource.get(group));
    own[resource.field] = std::move(list);
  }
}

void read_groups(const Json& list, Spec& spec, Fields& outer) {
  if (list.empty()) return;
  std::int64_t hosts = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], "ResourceConfig.InstanceGroups[" + std::to_string(i) + "]");
    HostGroup& group = spec.groups.emplace_back();
    fields.text("InstanceGroupName", group.name, true);
    fields.text("InstanceType", group.type, true);
    fields.integer("InstanceCount", group.count);
    outer.take(fields);
    hosts += group.count;
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  spec.instance_count = static_cast<int>(std::clamp<std::int64_t>(hosts, 0, most));
  spec.instance_type = spec.groups.front().type;
}

void read_group_resources(Spec& spec, Fields& own) {
  for (const Resource& resource : resources) {
    const std::string where = std::string("Muster.") + resource.field;
    const Json* const list = own.array(resource.field);
    if (list == nullptr) continue;
    if (list->size() != spec.groups.size()) {
      own.note(where, "a number for each group");
      continue;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Json& value = (*list)[i];
      const bool fits = value.is_number_integer() && value >= 0 && value <= resource.most;
      if (fits)
        resource.set(spec.groups[i], value.get<std::int64_t>());
      else
        own.note(where, "a list of numbers from 0 to " + std::to_string(resource.most));
    }
  }
}

}  // namespace muster::job
