#include "cli/out.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace muster::cli {
namespace {

/// A reopened terminal or pipe can be non-blocking for us alone. A file must not be reopened: it
/// would get a separate offset.
Fd own_description(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Out::Out(loop::Loop& loop, int fd)
    : loop_(loop), fd_(fd), terminal_(::isatty(fd) == 1), own_(own_description(fd)) {}

Out::~Out() = default;

int Out::columns() const {
  struct winsize size {};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int Out::rows() const {
  struct winsize size {};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

Out::Wrote Out::write_some() {
  while (sent_ < sending_.size()) {
    const ssize_t count =
        ::write(own_ ? own_.get() : fd_, sending_.data() + sent_, sending_.size() - sent_);
    if (count > 0) sent_ += static_cast<std::size_t>(count);
    if (count < 0 && errno == EAGAIN) return Wrote::some;
    if (count < 0 && errno != EINTR) return Wrote::gone;
  }
  return Wrote::all;
}

loop::Task<> Out::flush() {
  while (!text_.empty()) {
    sending_.clear();
    sending_.swap(text_);
    sent_ = 0;
    while (!gone_) {
      const Wrote wrote = write_some();
      gone_ = wrote == Wrote::gone;
      if (wrote != Wrote::some || abandoned_) break;
      if (!watch_) watch_ = std::make_unique<loop::Watch>(loop_, own_.get());
      const bool writable = co_await watch_->writable();
      if (!writable && !abandoned_) own_.reset();  // No waiting for such a file: block.
    }
  }
}

void Out::abandon() {
  abandoned_ = true;
  if (watch_) watch_->cancel();
}

}  // namespace muster::cli
