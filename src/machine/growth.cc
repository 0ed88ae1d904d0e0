#include "machine/growth.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster::machine {

Growth::Growth(loop::Loop& loop, Fd notifier)
    : notifier_(std::move(notifier)), watch_(loop, notifier_.get()) {}

Result<std::unique_ptr<Growth>> Growth::open(loop::Loop& loop, const std::string& folder) {
  Fd notifier(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notifier) return fail_errno("inotify");
  if (::inotify_add_watch(notifier.get(), folder.c_str(), IN_CREATE | IN_MOVED_TO) < 0)
    return fail_errno(folder);
  return std::unique_ptr<Growth>(new Growth(loop, std::move(notifier)));
}

void Growth::watch(const std::string& file) {
  if (files_.contains(file)) return;
  if (::inotify_add_watch(notifier_.get(), file.c_str(), IN_MODIFY) >= 0) files_.insert(file);
}

loop::Task<bool> Growth::happened() {
  alignas(inotify_event) std::array<char, 16384> events;
  while (true) {
    const ssize_t count = ::read(notifier_.get(), events.data(), events.size());
    if (count > 0) co_return true;
    if (count < 0 && errno != EAGAIN && errno != EINTR) co_return false;
    const bool readable = co_await watch_.readable();
    if (!readable) co_return false;
  }
}

}  // namespace muster::machine
