#include "container/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/fd.h"
#include "base/text.h"
#include "os/supervise/spawn.h"

namespace muster::container {
namespace {

constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
constexpr std::size_t complaint_bytes_max = 4096;
constexpr std::chrono::seconds time_max{20};

/// Waits for a child process, and kills it at the time limit.
Result<void> ended(pid_t pid, const std::string& name, const Fd& complaints) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{pidfd.get(), POLLIN, 0};
  int polled = 0;
  do polled = ::poll(&end, 1, static_cast<int>(std::chrono::milliseconds(time_max).count()));
  while (polled < 0 && errno == EINTR);
  if (polled != 1) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (polled != 1)
    return fail(Errc::timeout,
                name + ": timed out after " + std::to_string(time_max.count()) + " s");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said(complaint_bytes_max, '\0');
  const ssize_t count = ::pread(complaints.get(), said.data(), said.size(), 0);
  said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string line = to_utf8(said.substr(0, said.find('\n')));
  return fail(Errc::system,
              name + ": " + (line.empty() ? "failed without an error message" : line));
}

}  // namespace

Result<std::string> find_tool(const std::string& name, const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search = (path == env.end() ? "" : path->second) + administrators_path;
  return supervise::find_program(name, {{"PATH", search}}, "/");
}

Result<void> run_tool(const Args& argv, const std::string& input) {
  const Fd in(::memfd_create("input", MFD_CLOEXEC));
  const Fd complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!in || !complaints) return fail_errno("cannot create an in-memory file");
  TRY(write_all(in.get(), input));
  if (::lseek(in.get(), 0, SEEK_SET) != 0) return fail_errno("cannot create an in-memory file");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null");
  const supervise::Stdio stdio{in.get(), null.get(), complaints.get(), {}};
  const Command command{.argv = argv, .env = {{"PATH", administrators_path}}, .cwd = "/"};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {}));
  return ended(pid, argv.front().substr(argv.front().rfind('/') + 1), complaints);
}

}  // namespace muster::container
