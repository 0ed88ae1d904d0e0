#pragma once

// For tests only.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>

#include "base/fd.h"

namespace muster::ranks {

/// Runs `entry` in a separate process, in the state after an exec of `sm`: default signals, and of
/// our descriptors only 0, 1, 2 and `kept`. `err` becomes its stderr. The caller reaps it.
inline pid_t fork_entry(const std::function<int()>& entry, int err = 2, int kept = 2) {
  const pid_t pid = ::fork();
  CHECK_THAT(pid >= 0, "a test can fork");
  if (pid > 0) return pid;
  ::dup2(err, STDERR_FILENO);
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  ::_exit(entry());
}

/// ... a rank, as a launcher starts it: its standard output is not a file, unlike that of the tests
/// may be.
inline pid_t fork_rank(const std::function<int()>& entry, int err = 2, int kept = 2) {
  const auto piped = [&entry] {
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    return entry();
  };
  return fork_entry(piped, err, kept);
}

/// What comes until every writer of `fd` is gone. SIGCHLD may interrupt.
inline std::string read_to_end(const Fd& fd) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// What comes until `words` has, or the end.
inline std::string read_until(const Fd& fd, std::string_view words) {
  std::string text;
  char byte = 0;
  while (text.find(words) == std::string::npos) {
    const ssize_t count = ::read(fd.get(), &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text += byte;
  }
  return text;
}

}  // namespace muster::ranks
