#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/cloudformation/stack.h"

namespace muster::cloudformation {

/// The changes of a stack by an update. Pure.

struct Change {
  enum class Action { add, modify, remove };
  Action action{};
  std::string name;  ///< The logical name.
  std::string type;
  std::string id = {};      ///< The previous physical id; empty: none.
  bool replaced = false;    ///< Another resource takes its place.
  bool properties = false;  ///< Some differ.
  bool tags = false;

  bool operator==(const Change&) const = default;
};
/// In the order of creation; removals come last.
std::vector<Change> changes_between(const Stack& before, const Stack& after);

std::set<std::string> ids_of(const vpc::Networks& networks);
/// The resources of `networks` whose ids are in `ids`.
vpc::Networks only(const vpc::Networks& networks, const std::set<std::string>& ids);
/// The resources whose ids are not.
vpc::Networks without(const vpc::Networks& networks, const std::set<std::string>& ids);
/// Removes subnets and groups whose VPC is missing, and rules whose group is missing.
vpc::Networks without_dangling(vpc::Networks networks);

}  // namespace muster::cloudformation
