#include "os/supervise/output_pipe.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

namespace muster::supervise {
namespace {
constexpr Duration quiet_time = std::chrono::milliseconds(200);
constexpr std::size_t read_bytes = 128u << 10;
}  // namespace

OutputReader::OutputReader(loop::Loop& loop, Fd pipe, int rank, job::Stream stream)
    : pipe_(std::move(pipe)), watch_(loop, pipe_.get()), rank_(rank), stream_(stream) {}

loop::Task<> OutputReader::run(Sink sink, LastWords& words) {
  std::string buffer(read_bytes, '\0');
  std::vector<job::Lines> chunks;
  using Kind = LineSplitter::Kind;
  const LineSplitter::Emit emit = [&](std::string bytes, Kind kind) {
    job::Lines lines{rank_, stream_, kind == Kind::part, std::move(bytes)};
    lines.steps = kind == Kind::steps;
    chunks.push_back(std::move(lines));
  };
  bool ended = false;
  while (!ended) {
    const bool unfinished = splitter_.unfinished();
    const TimePoint quiet_at = unfinished ? Clock::now() + quiet_time : TimePoint::max();
    const bool readable = co_await watch_.readable(quiet_at);
    const ssize_t count = readable ? ::read(pipe_.get(), buffer.data(), buffer.size()) : -1;
    if (count > 0) {
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      words.add(stream_, bytes);
      splitter_.feed(bytes, emit);
    } else if (!readable && unfinished) {
      splitter_.flush_quiet(emit);
    } else if (count == 0 || !readable || (errno != EAGAIN && errno != EINTR)) {
      ended = true;
      splitter_.finish(emit);
    }
    for (job::Lines& chunk : chunks) co_await sink(std::move(chunk));
    chunks.clear();
  }
}

}  // namespace muster::supervise
