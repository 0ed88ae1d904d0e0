#include "os/devices/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "base/files/folder.h"
#include "base/text.h"
#include "os/supervise/answer.h"

namespace muster::devices {
namespace {

constexpr std::size_t record_bytes_max = 16u << 10;  ///< The kernel's own limit is 8 KiB.
constexpr int records_max = 1'000'000;               ///< Others may write while we read.
constexpr std::size_t xids_max = 10'000;

std::vector<Xid> read_all(const Fd& log) {
  std::vector<Xid> xids;
  std::array<char, record_bytes_max> buffer;
  for (int i = 0; i < records_max && xids.size() < xids_max; ++i) {
    const ssize_t count = ::read(log.get(), buffer.data(), buffer.size());
    // EPIPE: the kernel dropped records; the next read continues after the gap.
    if (count < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (count <= 0) break;
    const std::string_view record(buffer.data(), static_cast<std::size_t>(count));
    if (std::optional<Xid> xid = xid_in(record)) xids.push_back(*std::move(xid));
  }
  return xids;
}

}  // namespace

Result<Fd> open_kernel_log() {
  Fd log(::open(kernel_log, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) return fail_errno(std::string("cannot open ") + kernel_log);
  return log;
}

bool may_read_journal(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    for (const std::string& machine : names_in(folder).value_or(std::vector<std::string>())) {
      const std::string file = folder + "/" + machine + "/system.journal";
      if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0) return true;
    }
  return false;
}

Result<std::vector<Xid>> past_xids(const Env& env, Duration limit) {
  const Result<Fd> log = open_kernel_log();
  if (log) return read_all(*log);
  if (!may_read_journal()) return log.error();
  const Command command{
      .argv = {"journalctl", "-k", "-b", "-g", "NVRM: Xid", "-o", "json"}, .env = env, .cwd = "/"};
  const std::optional<std::string> lines = env::output_of(command, limit);
  if (!lines) return log.error();
  std::vector<Xid> xids;
  for (const std::string& line : split(*lines, '\n')) {
    const std::optional<std::string> record = record_in_journal(line);
    std::optional<Xid> xid = record ? xid_in(*record) : std::nullopt;
    if (xid && xids.size() < xids_max) xids.push_back(*std::move(xid));
  }
  return xids;
}

}  // namespace muster::devices
