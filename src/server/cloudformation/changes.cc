#include "server/cloudformation/changes.h"

#include <algorithm>

namespace muster::cloudformation {
namespace {

const StackResource* find(const Stack& stack, const std::string& name) {
  const auto found = std::find_if(stack.resources.begin(), stack.resources.end(),
                                  [&](const StackResource& each) { return each.name == name; });
  return found == stack.resources.end() ? nullptr : &*found;
}

template <class Keep>
vpc::Networks filtered(const vpc::Networks& networks, const Keep& keep) {
  vpc::Networks kept;
  for (const vpc::Vpc& each : networks.vpcs)
    if (keep(each.id)) kept.vpcs.push_back(each);
  for (const vpc::Subnet& each : networks.subnets)
    if (keep(each.id)) kept.subnets.push_back(each);
  for (const vpc::SecurityGroup& each : networks.groups)
    if (keep(each.id)) kept.groups.push_back(each);
  return kept;
}

}  // namespace

std::vector<Change> changes_between(const Stack& before, const Stack& after) {
  std::vector<Change> changes;
  for (const StackResource& each : after.resources) {
    const StackResource* const old = find(before, each.name);
    if (old == nullptr) {
      changes.push_back({.action = Change::Action::add, .name = each.name, .type = each.type});
      continue;
    }
    const Change change{.action = Change::Action::modify,
                        .name = each.name,
                        .type = each.type,
                        .id = old->id,
                        .replaced = old->id != each.id,
                        .properties = old->digest != each.digest,
                        .tags = old->tags != each.tags};
    if (change.replaced || change.properties || change.tags) changes.push_back(change);
  }
  for (const StackResource& each : before.resources)
    if (find(after, each.name) == nullptr)
      changes.push_back(
          {.action = Change::Action::remove, .name = each.name, .type = each.type, .id = each.id});
  return changes;
}

std::set<std::string> ids_of(const vpc::Networks& networks) {
  std::set<std::string> ids;
  for (const vpc::Vpc& each : networks.vpcs) ids.insert(each.id);
  for (const vpc::Subnet& each : networks.subnets) ids.insert(each.id);
  for (const vpc::SecurityGroup& each : networks.groups) ids.insert(each.id);
  return ids;
}

vpc::Networks only(const vpc::Networks& networks, const std::set<std::string>& ids) {
  return filtered(networks, [&](const std::string& id) { return ids.contains(id); });
}

vpc::Networks without(const vpc::Networks& networks, const std::set<std::string>& ids) {
  return filtered(networks, [&](const std::string& id) { return !ids.contains(id); });
}

vpc::Networks without_dangling(vpc::Networks networks) {
  std::set<std::string> vpcs;
  for (const vpc::Vpc& each : networks.vpcs) vpcs.insert(each.id);
  const auto floats = [&](const auto& each) { return !vpcs.contains(each.vpc); };
  std::erase_if(networks.subnets, floats);
  std::erase_if(networks.groups, floats);
  std::set<std::string> groups;
  for (const vpc::SecurityGroup& each : networks.groups) groups.insert(each.id);
  const auto dangles = [&](const vpc::Rule& rule) {
    return !rule.group.empty() && !groups.contains(rule.group);
  };
  for (vpc::SecurityGroup& each : networks.groups) {
    std::erase_if(each.ingress, dangles);
    std::erase_if(each.egress, dangles);
  }
  return networks;
}

}  // namespace muster::cloudformation
