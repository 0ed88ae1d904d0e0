#include "base/process/placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace muster {
namespace {

constexpr int cpus_max = 8192;  ///< Source: the kernel's NR_CPUS on x86-64.
constexpr std::size_t set_bytes = CPU_ALLOC_SIZE(cpus_max);
constexpr std::size_t word_bits = 8 * sizeof(unsigned long);

struct SetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, SetFree>;

Set empty_set() {
  Set set(CPU_ALLOC(cpus_max));
  CHECK_THAT(set != nullptr, "memory for a set of processors");
  CPU_ZERO_S(set_bytes, set.get());
  return set;
}

int set_policy(int mode, const std::vector<int>& nodes) {
  std::vector<unsigned long> mask(static_cast<std::size_t>(nodes.back()) / word_bits + 1);
  for (const int node : nodes)
    mask[static_cast<std::size_t>(node) / word_bits] |=
        1UL << (static_cast<unsigned>(node) % word_bits);
  // The kernel reads one bit less than it is told of.
  const bool is_set =
      ::syscall(SYS_set_mempolicy, mode, mask.data(), mask.size() * word_bits + 1) == 0;
  return is_set ? 0 : errno;
}

}  // namespace

Cpus own_cpus() {
  const Set set = empty_set();
  if (::sched_getaffinity(0, set_bytes, set.get()) != 0) return {};
  Cpus cpus;
  for (int cpu = 0; cpu < cpus_max; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), set_bytes, set.get())) cpus.push_back(cpu);
  return cpus;
}

Result<void> run_on(const Cpus& cpus) {
  CHECK_THAT(!cpus.empty() && cpus.back() < cpus_max, "processors of the kernel's numbers");
  const Set set = empty_set();
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), set_bytes, set.get());
  if (::sched_setaffinity(0, set_bytes, set.get()) != 0)
    return fail_errno("cannot set the CPU affinity to CPUs " + cpu_list(cpus));
  return {};
}

Result<void> prefer_memory_of(const std::vector<int>& nodes) {
  CHECK_THAT(!nodes.empty() && nodes.front() >= 0 && std::is_sorted(nodes.begin(), nodes.end()),
             "numbers of nodes, ascending");
  int error = set_policy(MPOL_PREFERRED_MANY, nodes);
  if (error == EINVAL) error = set_policy(MPOL_PREFERRED, {nodes.front()});
  if (error == 0) return {};
  errno = error;
  return fail_errno("cannot set the preferred NUMA nodes to " + cpu_list(nodes));
}

bool has_memory_policy() {
  int mode = MPOL_DEFAULT;
  return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0 &&
         mode != MPOL_DEFAULT;
}

}  // namespace muster
