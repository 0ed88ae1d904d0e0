#include "image/layers/child.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace muster::image {

Result<Child> Child::start(const Command& command, const supervise::Stdio& stdio) {
  supervise::SpawnOptions options;
  options.own_group = true;
  options.death_signal = SIGKILL;
  const pid_t pid = TRY(supervise::spawn(command, stdio, options));
  const long number = ::syscall(SYS_pidfd_open, pid, 0);
  Child helper(pid, Fd(static_cast<int>(number)));
  if (number < 0) return fail_errno(command.argv[0]);
  return helper;
}

bool Child::reap() {
  if (pid_ < 0) return false;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    pid_ = -1;  // The process's Reaper was quicker: the number may be another's by now.
    return false;
  }
  const bool ended = info.si_pid == pid_;
  ::kill(-pid_, SIGKILL);  // Before it is reaped: the number is its own until then.
  ::waitid(P_PID, id, &info, WEXITED);
  pid_ = -1;
  return ended && info.si_code == CLD_EXITED && info.si_status == 0;
}

}  // namespace muster::image
