#include "host/env/usable_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"

namespace muster::env {

int usable_cpus() {
  int count = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t allowed;  // Too small on a machine with more than 1,024 processors: then all count as
                      // allowed.
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) count = CPU_COUNT(&allowed);
  const Result<std::string> quota = read_file("/sys/fs/cgroup/cpu.max");
  return cpus_of_quota(quota ? *quota : "", std::max(count, 1));
}

int cpus_of_quota(std::string_view text, int all) {
  const std::vector<std::string> words = split(trim(std::string(text)), ' ');
  if (words.size() != 2) return all;
  const std::int64_t quota = parse_integer(words[0]).value_or(0);
  const std::int64_t period = parse_integer(words[1]).value_or(0);
  if (quota <= 0 || period <= 0) return all;
  const std::int64_t cpus = quota / period + (quota % period == 0 ? 0 : 1);
  return static_cast<int>(std::min<std::int64_t>(cpus, all));
}

}  // namespace muster::env
