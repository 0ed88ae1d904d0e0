#include "platform/journal_follow.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster::platform {
namespace {
constexpr std::size_t read_bytes = 1u << 20;
}

JournalFollow::JournalFollow(loop::Loop& loop, Fd notifier, std::vector<File> files)
    : notifier_(std::move(notifier)),
      watch_(loop, notifier_.get()),
      files_(std::move(files)),
      buffer_(read_bytes, '\0') {}

Result<std::unique_ptr<JournalFollow>> JournalFollow::open(loop::Loop& loop,
                                                           std::vector<Host> hosts) {
  Fd notifier(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notifier) return fail_errno("inotify");
  std::vector<File> files;
  for (Host& host : hosts) {
    // The folder, not the file: that may come later.
    if (::inotify_add_watch(notifier.get(), host.folder.c_str(), IN_CREATE | IN_MODIFY) < 0)
      return fail_errno(host.folder);
    const std::uint64_t offset = host.offset;
    files.push_back({std::move(host), Fd(), offset, job::JournalReader(offset)});
  }
  return std::unique_ptr<JournalFollow>(
      new JournalFollow(loop, std::move(notifier), std::move(files)));
}

Result<bool> JournalFollow::read(std::size_t host, const Take& take) {
  File& file = files_.at(host);
  if (!file.fd) {
    const std::string path = file.host.folder + "/journal";
    file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.fd && errno == ENOENT) return false;
    if (!file.fd) return fail_errno(path);
  }
  ssize_t count = 0;
  do
    count =
        ::pread(file.fd.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(file.read_to));
  while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno(file.host.folder + "/journal");
  file.read_to += static_cast<std::uint64_t>(count);
  file.reader.feed(std::string_view(buffer_.data(), static_cast<std::size_t>(count)));
  while (true) {
    const Result<std::optional<job::Record>> record = file.reader.next();
    if (!record) return record.error();
    if (!*record) return count > 0;
    take(host, **record);
  }
}

loop::Task<bool> JournalFollow::changed() {
  alignas(inotify_event) std::array<char, 16384> events;
  while (true) {
    const ssize_t count = ::read(notifier_.get(), events.data(), events.size());
    if (count > 0) co_return true;
    if (count < 0 && errno != EAGAIN && errno != EINTR) co_return false;
    const bool readable = co_await watch_.readable();
    if (!readable) co_return false;
  }
}

}  // namespace muster::platform
