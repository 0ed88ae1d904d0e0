#include "host/env/usable_cpus.h"

#include <algorithm>

#include "base/fd.h"
#include "base/process/placement.h"
#include "base/text.h"

namespace muster::env {

int usable_cpus() {
  const int count = static_cast<int>(own_cpus().size());
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
