#include "host/calls/writer.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace muster::calls {
namespace {

constexpr std::size_t queue_bytes_max = 1u << 20;

}  // namespace

Writer::Writer(loop::Loop& loop, int fd) : loop_(loop), fd_(fd), moved_(loop), tasks_(loop) {
  open();
}

Writer::Writer(loop::Loop& loop, Fd fd) : Writer(loop, fd.get()) {
  given_ = std::move(fd);
}

/// epoll does not support regular files. Of all devices, only terminals are opened again: others,
/// such as /dev/null, never block.
void Writer::open() {
  struct stat info {};
  gone_ = ::fstat(fd_, &info) != 0;
  terminal_ = !gone_ && ::isatty(fd_) == 1;
  const bool device = S_ISCHR(info.st_mode) && !terminal_;
  if (gone_ || S_ISREG(info.st_mode) || device) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd_);
  own_ = Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  kind_ = own_ ? Kind::own_pipe : Kind::shared_pipe;
  if (own_) fd_ = own_.get();
}

/// Bytes written; 0 to wait; -1 if there is no reader.
long Writer::write_some() const {
  std::size_t count = queue_.size() - written_;
  // A blocking pipe that polls writable takes PIPE_BUF bytes without blocking, not more.
  if (kind_ == Kind::shared_pipe) count = std::min<std::size_t>(count, PIPE_BUF);
  const ssize_t done = ::write(fd_, queue_.data() + written_, count);
  if (done > 0) return done;
  return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

void Writer::post(std::string_view bytes) {
  if (gone_ || bytes.empty()) return;
  queue_ += bytes;
  if (tasks_.size() == 0) tasks_.start(drain());
}

void Writer::give_up() {
  gone_ = true;
  tasks_.end();
  queue_.clear();
  written_ = 0;
  moved_.notify();
}

loop::Task<> Writer::drain() {
  std::optional<loop::Watch> watch;
  bool wait = kind_ == Kind::shared_pipe;
  while (written_ < queue_.size() && !gone_) {
    if (wait) {
      if (!watch) watch.emplace(loop_, fd_);
      const bool writable = co_await watch->writable();
      if (!writable) break;
    }
    const long done = write_some();
    if (done < 0) gone_ = true;
    wait = kind_ != Kind::file && (done == 0 || kind_ == Kind::shared_pipe);
    if (done <= 0) continue;
    written_ += static_cast<std::size_t>(done);
    if (written_ < queue_.size() / 2) continue;
    queue_.erase(0, written_);
    written_ = 0;
    moved_.notify();
  }
  queue_.clear();
  written_ = 0;
  moved_.notify();
}

bool Writer::behind() const {
  return !gone_ && queue_.size() - written_ > queue_bytes_max;
}

loop::Task<> Writer::room() {
  while (behind()) co_await moved_.wait();
}

loop::Task<> Writer::flushed(TimePoint deadline) {
  while (!queue_.empty() && Clock::now() < deadline) co_await moved_.wait_until(deadline);
}

}  // namespace muster::calls
