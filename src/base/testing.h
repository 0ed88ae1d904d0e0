#pragma once

// For tests only.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/result.h"

namespace muster {

/// True if `work` ends its process by SIGABRT, as a broken invariant does. It runs in a child.
template <class Work>
bool aborts(const Work& work) {
  const pid_t child = ::fork();
  CHECK_THAT(child >= 0, "fork");
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::close(STDERR_FILENO);
    ::signal(SIGABRT, SIG_DFL);
    work();
    ::_exit(0);
  }
  int status = 0;
  CHECK_THAT(::waitpid(child, &status, 0) == child, "waitpid");
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace muster
