#include "toolkit/writer.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::toolkit {
namespace {
constexpr std::size_t queue_bytes_max = 1u << 20;
}

Writer::Writer(loop::Loop& loop, int fd) : loop_(loop), fd_(fd), moved_(loop) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    gone_ = true;
    return;
  }
  // epoll knows no regular files; /dev/null is as good as one.
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ||
      (S_ISCHR(info.st_mode) && ::isatty(fd) == 0))
    return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  own_ = Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  kind_ = own_ ? Kind::own_pipe : Kind::shared_pipe;
  if (own_) fd_ = own_.get();
}

void Writer::post(std::string_view bytes) {
  if (gone_ || bytes.empty()) return;
  queue_ += bytes;
  if (draining_) return;
  draining_ = true;
  loop_.spawn(drain());
}

long Writer::write_some() {
  std::size_t count = queue_.size() - written_;
  // A blocking pipe that polls writable takes PIPE_BUF bytes without blocking, no more is promised.
  if (kind_ == Kind::shared_pipe) count = std::min<std::size_t>(count, PIPE_BUF);
  const ssize_t done = ::write(fd_, queue_.data() + written_, count);
  if (done > 0) return done;
  return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

loop::Task<> Writer::drain() {
  std::optional<loop::Watch> watch;
  if (kind_ != Kind::file) watch.emplace(loop_, fd_);
  bool wait = kind_ == Kind::shared_pipe;
  while (written_ < queue_.size() && !gone_) {
    if (wait) {
      const bool writable = co_await watch->writable();
      if (!writable) break;
    }
    const long done = write_some();
    if (done < 0) gone_ = true;
    wait = watch.has_value() && (done == 0 || kind_ == Kind::shared_pipe);
    if (done <= 0) continue;
    written_ += static_cast<std::size_t>(done);
    if (written_ < queue_.size() / 2) continue;
    queue_.erase(0, written_);
    written_ = 0;
    moved_.notify();
  }
  queue_.clear();
  written_ = 0;
  draining_ = false;
  moved_.notify();
}

bool Writer::behind() const { return !gone_ && queue_.size() - written_ > queue_bytes_max; }

loop::Task<> Writer::room() {
  while (behind()) co_await moved_.wait();
}

loop::Task<> Writer::flushed(TimePoint deadline) {
  while (!queue_.empty() && Clock::now() < deadline) co_await moved_.wait_until(deadline);
}

}  // namespace muster::toolkit
