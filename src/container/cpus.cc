#include "container/cpus.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "container/cgroup.h"

namespace muster::container {
namespace {

constexpr std::int64_t cpus_max = 8192;  ///< Source: the kernel's NR_CPUS on x86-64.

Cpus cpus_in(const std::string& file) {
  return cpus_from(trim(read_file(file).value_or(""))).value_or(Cpus());
}

}  // namespace

std::optional<Cpus> cpus_from(std::string_view list) {
  Cpus cpus;
  if (list.empty()) return cpus;
  for (const std::string& part : split(std::string(list), ',')) {
    const std::size_t dash = part.find('-');
    const std::optional<std::int64_t> first = parse_integer(part.substr(0, dash));
    const std::optional<std::int64_t> last =
        dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= cpus_max) return std::nullopt;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::string cpu_list(const Cpus& cpus) {
  std::vector<std::string> names;
  for (const int cpu : cpus) names.push_back(std::to_string(cpu));
  return join(names, ",");
}

std::optional<Cpus> choose_cpus(const Cpus& all, const std::vector<Cpus>& taken,
                                std::size_t wanted) {
  if (wanted == 0 || wanted >= all.size()) return std::nullopt;
  Cpus chosen;
  for (const int cpu : all) {
    const bool is_taken = std::any_of(taken.begin(), taken.end(), [cpu](const Cpus& cpus) {
      return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
    });
    if (!is_taken) chosen.push_back(cpu);
    if (chosen.size() == wanted) return chosen;
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
