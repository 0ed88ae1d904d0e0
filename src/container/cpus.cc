#include "container/cpus.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "container/cgroup.h"

namespace muster::container {
namespace {

Cpus cpus_in(const std::string& file) {
  return cpus_from(trim(read_file(file).value_or(""))).value_or(Cpus());
}

}  // namespace

std::optional<Cpus> choose_cpus(const Cpus& all, const std::vector<Cpus>& taken, std::size_t wanted,
                                const Cpus& best) {
  if (wanted == 0 || wanted >= all.size()) return std::nullopt;
  const auto is_taken = [&taken](int cpu) {
    return std::any_of(taken.begin(), taken.end(), [cpu](const Cpus& cpus) {
      return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
    });
  };
  for (const Cpus& candidates : {common_cpus(all, best), all}) {
    Cpus free = candidates;
    std::erase_if(free, is_taken);
    if (free.size() < wanted) continue;
    free.resize(wanted);
    return free;
  }
  return std::nullopt;
}

CpuShares cpu_shares() {
  CpuShares shares;
  for (const std::string& root : cgroup_roots()) {
    // Version 1 lists the processors in the root of its own hierarchy, version 2 in
    // cpuset.cpus.effective.
    Cpus all = cpus_in(root + "/cpuset.cpus");
    if (all.empty()) all = cpus_in(root + "/cpuset.cpus.effective");
    if (all.empty()) continue;
    shares.all = std::move(all);
    for (const std::string& group : host_groups(root)) {
      Cpus own = cpus_in(group + "/cpuset.cpus");
      if (!own.empty() && own.size() < shares.all.size()) shares.taken.push_back(std::move(own));
    }
  }
  return shares;
}

}  // namespace muster::container
