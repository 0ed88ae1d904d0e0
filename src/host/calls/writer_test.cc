#include "host/calls/writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "net/loop/testing.h"

namespace muster::calls {
namespace {

using std::chrono::seconds;

/// Reads from a pipe until its writers are gone.
loop::Task<> read_all(loop::Loop& loop, int fd, std::string& text) {
  loop::Watch watch(loop, fd);
  char buffer[4096];
  while (true) {
    const bool is_readable = co_await watch.readable();
    if (!is_readable) co_return;
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count <= 0) co_return;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

loop::Task<> fill(loop::Loop& loop, int fd, Pipe& pipe, std::size_t& posted) {
  Writer writer(loop, fd);
  for (int i = 0; i < 300; ++i) {
    writer.post(std::string(9999, static_cast<char>('a' + i % 26)) + "\n");
    posted += 10000;
    co_await writer.room();
  }
  co_await writer.flushed(Clock::now() + seconds(20));
  pipe.write.reset();
}

TEST_CASE("writer: everything arrives in order, whatever the reader's speed") {
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  std::string text;
  std::size_t posted = 0;
  loop::Tasks tasks(loop);
  tasks.start(read_all(loop, pipe.read.get(), text));
  tasks.start(fill(loop, pipe.write.get(), pipe, posted));
  loop.run();
  CHECK(posted == 3000000);
  REQUIRE(text.size() == posted);
  bool ordered = true;
  for (std::size_t i = 0; i < 300; ++i)
    ordered = ordered && text[i * 10000] == static_cast<char>('a' + i % 26) &&
              text[i * 10000 + 9999] == '\n';
  CHECK(ordered);
}

TEST_CASE("writer: a reader that is gone does not block the writer") {
  std::signal(SIGPIPE, SIG_IGN);
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  pipe.read.reset();
  std::size_t posted = 0;
  loop::Tasks tasks(loop);
  tasks.start(fill(loop, pipe.write.get(), pipe, posted));
  loop.run();
  CHECK(posted == 3000000);
}

TEST_CASE("writer: when the reader disappears the rest is dropped, and nothing waits any more") {
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  {
    Writer writer(loop, pipe.write.get());
    writer.post(std::string(3000000, 'x'));
    loop::run_task(loop, writer.flushed(Clock::now() + std::chrono::milliseconds(10)));
    CHECK(writer.behind());
  }
  pipe.write.reset();
  std::string text;
  loop::run_task(loop, read_all(loop, pipe.read.get(), text));
  CHECK(!text.empty());
  CHECK(text.size() < 3000000);
}

TEST_CASE("writer: a socket, which cannot be reopened, is written to directly") {
  loop::Loop loop;
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  Pipe pair{Fd(ends[0]), Fd(ends[1])};
  std::string text;
  std::size_t posted = 0;
  loop::Tasks tasks(loop);
  tasks.start(read_all(loop, pair.read.get(), text));
  tasks.start(fill(loop, pair.write.get(), pair, posted));
  loop.run();
  CHECK(posted == 3000000);
  CHECK(text.size() == posted);
}

TEST_CASE("writer: nothing is kept for an invalid descriptor, and a device accepts everything") {
  loop::Loop loop;
  Writer none(loop, 1'000'000);
  none.post(std::string(3'000'000, 'x'));
  CHECK(!none.behind());
  CHECK(!none.is_terminal());
  Writer device(loop, Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  device.post(std::string(3'000'000, 'x'));
  CHECK(device.behind());
  const auto test = [](Writer& to) -> loop::Task<> {
    co_await to.flushed(Clock::now() + seconds(20));
  };
  loop::run_task(loop, test(device));
  CHECK(!device.behind());
}

}  // namespace
}  // namespace muster::calls
