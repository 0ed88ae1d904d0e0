#include "base/process/open_files.h"

#include <sys/resource.h>

namespace muster {
namespace {

rlimit limit_before{};
bool is_raised = false;

}  // namespace

std::uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before.rlim_cur;
  limit_before = before;
  is_raised = true;
  return limit.rlim_cur;
}

void restore_open_files() {
  if (is_raised) ::setrlimit(RLIMIT_NOFILE, &limit_before);
}

}  // namespace muster
