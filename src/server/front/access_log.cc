#include "server/front/access_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/dates.h"
#include "base/files/given_path.h"
#include "base/terminal.h"

namespace muster::server {
namespace {

constexpr std::size_t path_bytes_max = 2048;

constexpr int flags = O_WRONLY | O_APPEND | O_CLOEXEC;

/// The folder may be another user's: neither a link of that user's nor a pipe there is written to.
Result<Fd> open_log(const std::string& path) {
  const GivenPath given = TRY(walk_given(path));
  struct stat status {};
  if (given.missing.empty()) {
    if (::fstat(given.held.get(), &status) != 0) return fail_errno("cannot open " + path);
    if (!S_ISREG(status.st_mode)) return fail(Errc::invalid_input, path + " is not a regular file");
    Fd file(::open(held_path(given.held).c_str(), flags));
    if (!file) return fail_errno("cannot open " + path);
    return file;
  }
  errno = ENOENT;
  Fd file;
  if (given.missing.size() == 1)
    file = Fd(::openat(given.held.get(), given.missing[0].c_str(), flags | O_CREAT | O_EXCL, 0600));
  if (!file) return fail_errno("cannot create " + path);
  return file;
}

/// Untrusted text for use in quotes, without quotes and terminal control characters.
std::string quoted(std::string_view text) {
  std::string shown = visible_line(std::string(text.substr(0, path_bytes_max)));
  for (std::size_t at = shown.find('"'); at != std::string::npos; at = shown.find('"', at))
    shown.replace(at, 1, "%22");
  return shown;
}

}  // namespace

std::string access_line(const http::Served& served, UnixMillis now) {
  const std::string_view path = served.target.substr(0, served.target.find('?'));
  std::array<char, 128> numbers{};
  std::snprintf(numbers.data(), numbers.size(), " %d %llu %llu %.1f\n", served.status,
                static_cast<unsigned long long>(served.received_bytes),
                static_cast<unsigned long long>(served.sent_bytes),
                std::chrono::duration<double, std::milli>(served.took).count());
  const std::string key = served.key.empty() ? "-" : std::string(served.key);
  return iso_date(now) + " " + std::string(served.peer) + " " + key + " \"" +
         quoted(served.method) + " " + quoted(path) + "\"" + numbers.data();
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(std::string path) {
  Fd file = TRY(open_log(path));
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(path), std::move(file)));
}

void AccessLog::add(const http::Served& served) {
  const std::string line = access_line(served, wall_time());
  const std::lock_guard<std::mutex> lock(mutex_);
  static_cast<void>(write_all(file_.get(), line));
}

Result<void> AccessLog::reopen() {
  Fd fresh = TRY(open_log(path_));
  const std::lock_guard<std::mutex> lock(mutex_);
  file_ = std::move(fresh);
  return {};
}

}  // namespace muster::server
