#include "supervise/output.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

namespace muster::supervise {
namespace {
constexpr Duration quiet_time = std::chrono::milliseconds(200);
constexpr std::size_t read_bytes = 128u << 10;
}  // namespace

OutputReader::OutputReader(loop::Loop& loop, Fd pipe, int rank, job::Stream stream)
    : loop_(loop),
      pipe_(std::move(pipe)),
      watch_(loop, pipe_.get()),
      quiet_timer_(loop),
      rank_(rank),
      stream_(stream) {}

loop::Task<> OutputReader::run(Sink sink, LastWords& words) {
  std::string buffer(read_bytes, '\0');
  std::vector<job::Lines> chunks;
  const LineSplitter::Emit emit = [&](std::string bytes, bool part) {
    chunks.push_back({rank_, stream_, part, std::move(bytes)});
  };
  while (!ended_) {
    if (splitter_.unfinished()) {
      quiet_at_ = Clock::now() + quiet_time;
      if (!watching_quiet_) {
        watching_quiet_ = true;
        loop_.spawn(watch_quiet());
      }
    }
    waiting_ = true;
    const bool readable = co_await watch_.readable();
    waiting_ = false;
    const ssize_t count = readable ? ::read(pipe_.get(), buffer.data(), buffer.size()) : -1;
    if (count > 0) {
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      words.add(stream_, bytes);
      splitter_.feed(bytes, emit);
    } else if (!readable && quiet_) {
      splitter_.flush_quiet(emit);
    } else if (count == 0 || !readable || (errno != EAGAIN && errno != EINTR)) {
      ended_ = true;
      splitter_.finish(emit);
    }
    quiet_ = false;
    for (job::Lines& chunk : chunks) co_await sink(std::move(chunk));
    chunks.clear();
  }
  quiet_timer_.cancel();
}

loop::Task<> OutputReader::watch_quiet() {
  const std::shared_ptr<OutputReader> self = shared_from_this();
  while (!ended_ && splitter_.unfinished()) {
    if (!co_await quiet_timer_.until(quiet_at_)) break;
    if (Clock::now() < quiet_at_ || !waiting_) {
      // More came meanwhile, or the sink is slow: then what is unfinished is looked at later.
      if (!waiting_) quiet_at_ = Clock::now() + quiet_time;
      continue;
    }
    quiet_ = true;
    watch_.cancel();
    break;
  }
  watching_quiet_ = false;
}

}  // namespace muster::supervise
