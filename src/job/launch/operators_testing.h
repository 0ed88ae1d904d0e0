#pragma once

#include "job/launch/operators.h"

namespace muster::launch {

// What the operators' tables are made of.

/// Hosts algo-1, algo-2, … with these GPUs and three free ports each: 1001.., 2001.., 3001...
inline Site site_of(const std::vector<int>& gpus, const std::string& self) {
  Site site;
  site.self = self;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto first = static_cast<std::uint16_t>(1000 * (i + 1) + 1);
    Site::Host host;
    host.name = "algo-" + std::to_string(i + 1);
    host.gpus = gpus[i];
    for (std::uint16_t n = 0; n < 3; ++n)
      host.ports.push_back(static_cast<std::uint16_t>(first + n));
    site.hosts.push_back(std::move(host));
  }
  return site;
}

inline Site hosts_of(int count, int self = 1) {
  return site_of(std::vector<int>(static_cast<std::size_t>(count), 0),
                 "algo-" + std::to_string(self));
}

/// What the plan sets for a program, beyond what was given.
inline Env added_to(const HostProgram& program, const Command& given) {
  Env result;
  for (const auto& [name, value] : program.command.env) {
    const Env::const_iterator before = given.env.find(name);
    if (before == given.env.end() || before->second != value) result.emplace(name, value);
  }
  return result;
}

inline Args names_of(const HostPlan& plan) {
  Args names;
  for (const HostProgram& program : plan.programs) names.push_back(program.name);
  return names;
}

}  // namespace muster::launch
