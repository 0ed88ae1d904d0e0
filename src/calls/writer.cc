#include "calls/writer.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

namespace muster::calls {
namespace {

constexpr std::size_t queue_bytes_max = 1u << 20;

enum class Kind { file, own_pipe, shared_pipe };

}  // namespace

struct Writer::State {
  State(loop::Loop& on, int number) : loop(on), fd(number), moved(on) { open(); }

  /// epoll knows no regular files; of devices only terminals are more than /dev/null.
  void open() {
    struct stat info {};
    gone = ::fstat(fd, &info) != 0;
    terminal = !gone && ::isatty(fd) == 1;
    const bool device = S_ISCHR(info.st_mode) && !terminal;
    if (gone || S_ISREG(info.st_mode) || device) return;
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    own = Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    kind = own ? Kind::own_pipe : Kind::shared_pipe;
    if (own) fd = own.get();
  }

  /// Bytes written; 0 to wait; -1 when nobody reads.
  long write_some() const {
    std::size_t count = queue.size() - written;
    // A blocking pipe that polls writable takes PIPE_BUF bytes without blocking, not more.
    if (kind == Kind::shared_pipe) count = std::min<std::size_t>(count, PIPE_BUF);
    const ssize_t done = ::write(fd, queue.data() + written, count);
    if (done > 0) return done;
    return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
  }

  loop::Loop& loop;
  Fd given;  ///< The descriptor, where it was handed over.
  Fd own;
  int fd;
  Kind kind = Kind::file;
  bool terminal = false;
  std::string queue;
  std::size_t written = 0;
  bool draining = false;
  bool gone = false;
  loop::Watch* watch = nullptr;  ///< The wait of drain(), while it runs.
  loop::Event moved;
};

Writer::Writer(loop::Loop& loop, int fd) : loop_(loop), state_(std::make_shared<State>(loop, fd)) {}

Writer::Writer(loop::Loop& loop, Fd fd) : Writer(loop, fd.get()) {
  state_->given = std::move(fd);
}

Writer::~Writer() {
  state_->gone = true;
  if (state_->watch != nullptr) state_->watch->cancel();
}

void Writer::post(std::string_view bytes) {
  if (state_->gone || bytes.empty()) return;
  state_->queue += bytes;
  if (state_->draining) return;
  state_->draining = true;
  loop_.spawn(drain(state_));
}

loop::Task<> Writer::drain(std::shared_ptr<State> state) {
  State& s = *state;
  std::optional<loop::Watch> watch;
  bool wait = s.kind == Kind::shared_pipe;
  while (s.written < s.queue.size() && !s.gone) {
    if (wait) {
      if (!watch) watch.emplace(s.loop, s.fd);
      s.watch = &*watch;
      const bool writable = co_await watch->writable();
      s.watch = nullptr;
      if (!writable) break;
    }
    const long done = s.write_some();
    if (done < 0) s.gone = true;
    wait = s.kind != Kind::file && (done == 0 || s.kind == Kind::shared_pipe);
    if (done <= 0) continue;
    s.written += static_cast<std::size_t>(done);
    if (s.written < s.queue.size() / 2) continue;
    s.queue.erase(0, s.written);
    s.written = 0;
    s.moved.notify();
  }
  s.queue.clear();
  s.written = 0;
  s.draining = false;
  s.moved.notify();
}

bool Writer::is_terminal() const {
  return state_->terminal;
}

bool Writer::behind() const {
  return !state_->gone && state_->queue.size() - state_->written > queue_bytes_max;
}

loop::Task<> Writer::room() {
  const std::shared_ptr<State> state = state_;
  while (!state->gone && state->queue.size() - state->written > queue_bytes_max)
    co_await state->moved.wait();
}

loop::Task<> Writer::flushed(TimePoint deadline) {
  const std::shared_ptr<State> state = state_;
  while (!state->queue.empty() && Clock::now() < deadline)
    co_await state->moved.wait_until(deadline);
}

}  // namespace muster::calls
