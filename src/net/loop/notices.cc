#include "net/loop/notices.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster::loop {

Notices::Notices(Loop& loop, Fd notifier)
    : notifier_(std::move(notifier)), watch_(loop, notifier_.get()) {}

Result<std::unique_ptr<Notices>> Notices::open(Loop& loop) {
  Fd notifier(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notifier) return fail_errno("cannot watch files with inotify");
  return std::unique_ptr<Notices>(new Notices(loop, std::move(notifier)));
}

Result<void> Notices::add(const std::string& path, std::uint32_t events) {
  if (::inotify_add_watch(notifier_.get(), path.c_str(), events) < 0)
    return fail_errno("cannot watch " + path);
  return {};
}

Task<bool> Notices::happened() {
  alignas(inotify_event) std::array<char, 16384> events;
  while (true) {
    const ssize_t count = ::read(notifier_.get(), events.data(), events.size());
    if (count > 0) co_return true;
    if (count < 0 && errno != EAGAIN && errno != EINTR) co_return false;
    const bool readable = co_await watch_.readable();
    if (!readable) co_return false;
  }
}

}  // namespace muster::loop
