#include "container/child_process.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

#include "base/text.h"
#include "os/supervise/reaper.h"

namespace muster::container {

Result<Process> Process::open(pid_t pid) {
  // glibc 2.36's <sys/pidfd.h> cannot be included from C++.
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return fail_errno("cannot watch process " + std::to_string(pid));
  return Process(pid, std::move(pidfd));
}

bool Process::takes(int number) const {
  const std::string text =
      read_file("/proc/" + std::to_string(pid_) + "/status", 65536).value_or("");
  std::uint64_t taken = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split_words(line);
    // Before the exec, the process is still runc: Go catches all signals, and drops those without a
    // handler.
    if (words.size() == 2 && words[0] == "Name:" && words[1].starts_with("runc")) return false;
    if (words.size() == 3 && words[0] == "NSpid:" && words[2] != "1") return true;
    if (words.size() != 2 || (words[0] != "SigBlk:" && words[0] != "SigCgt:")) continue;
    std::uint64_t mask = 0;
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), mask, 16);
    taken |= mask;
  }
  return ((taken >> (number - 1)) & 1) != 0;
}

void Process::signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

loop::Task<job::Outcome> Process::ended(loop::Loop& loop) {
  loop::Watch watch(loop, pidfd_.get());
  if (!co_await watch.readable()) co_return job::Outcome::failed("no longer waited for");
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0)
    co_return job::Outcome::failed(errno_text("cannot wait for the process"));
  co_return supervise::outcome_of(info.si_code, info.si_status);
}

}  // namespace muster::container
