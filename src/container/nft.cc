#include "container/nft.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "supervise/spawn.h"

namespace muster::container {
namespace {

constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
constexpr int nft_ms_max = 20'000;
constexpr std::size_t complaint_bytes_max = 4096;

/// Waits for the end of a child of ours; kills it when its time is over.
Result<void> ended(pid_t pid, const Fd& complaints) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{pidfd.get(), POLLIN, 0};
  int polled = 0;
  do polled = ::poll(&end, 1, nft_ms_max);
  while (polled < 0 && errno == EINTR);
  if (polled != 1) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (polled != 1) return fail(Errc::timeout, "nft: no answer within 20 s");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said(complaint_bytes_max, '\0');
  const ssize_t count = ::pread(complaints.get(), said.data(), said.size(), 0);
  said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string line = to_utf8(said.substr(0, said.find('\n')));
  return fail(Errc::system, "nft: " + (line.empty() ? "it failed without a word" : line));
}

}  // namespace

Result<std::string> find_nft(const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search = (path == env.end() ? "" : path->second) + administrators_path;
  Result<std::string> nft = supervise::find_program("nft", {{"PATH", search}}, "/");
  if (!nft) return fail(Errc::not_found, "nft is not installed (Debian: nftables)");
  return nft;
}

Result<void> run_nft(const std::string& text, const Env& env) {
  const std::string nft = TRY(find_nft(env));
  const Fd input(::memfd_create("rules", MFD_CLOEXEC));
  const Fd complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!input || !complaints) return fail_errno("memfd");
  TRY(write_all(input.get(), text));
  if (::lseek(input.get(), 0, SEEK_SET) != 0) return fail_errno("memfd");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("/dev/null");
  const supervise::Stdio stdio{input.get(), null.get(), complaints.get(), {}};
  const Command command{
      .argv = {nft, "-f", "-"}, .env = {{"PATH", administrators_path}}, .cwd = {}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {}));
  return ended(pid, complaints);
}

}  // namespace muster::container
