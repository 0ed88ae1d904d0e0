#include "cli/out.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "base/fd.h"
#include "net/loop/testing.h"

namespace muster::cli {
namespace {

constexpr std::size_t much = 4u << 20;  // More than a pipe takes.

TEST_CASE("out: it waits for a slow reader while the loop continues, and nothing is lost") {
  Pipe pipe = *make_pipe();
  loop::Loop loop;
  std::size_t got = 0;
  const auto write = [&]() -> loop::Task<> {
    {
      Out out(loop, pipe.write.get());
      out.text().assign(much, 'x');
      co_await out.flush();
      CHECK(out.text().empty());
    }
    pipe.write.reset();
  };
  const auto read = [&]() -> loop::Task<> {  // In the same thread: a flush that blocks would hang.
    loop::Watch watch(loop, pipe.read.get());
    std::string buffer(1u << 16, '\0');
    while (true) {
      const bool readable = co_await watch.readable();
      const ssize_t count = readable ? ::read(pipe.read.get(), buffer.data(), buffer.size()) : 0;
      if (count == 0) co_return;
      if (count > 0) got += static_cast<std::size_t>(count);
    }
  };
  loop::Tasks tasks(loop);
  tasks.start(write());
  loop::run_task(loop, read());
  CHECK(got == much);
}

TEST_CASE("out: the flags that others share are left alone") {
  Pipe pipe = *make_pipe();
  loop::Loop loop;
  Out out(loop, pipe.write.get());
  CHECK((::fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK(!out.is_terminal());
}

TEST_CASE("out: once abandoned, it waits for no reader, and without a reader it drops the output") {
  std::signal(SIGPIPE, SIG_IGN);  // As main does.
  Pipe pipe = *make_pipe();
  loop::Loop loop;
  Out out(loop, pipe.write.get());
  const auto story = [&]() -> loop::Task<> {
    out.text().assign(much, 'x');
    loop.post([&] { out.abandon(); });
    co_await out.flush();
    out.text() = "more";
    co_await out.flush();
    pipe.read.reset();
    out.text() = "nobody";
    co_await out.flush();
    CHECK(out.text().empty());
  };
  loop::run_task(loop, story());
}

TEST_CASE("out: a file is written in place") {
  const std::string folder = *make_private_folder("/tmp", "muster-out-");
  const std::string path = folder + "/file";
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(write_all(file.get(), "before\n"));
  loop::Loop loop;
  Out out(loop, file.get());
  const auto story = [&]() -> loop::Task<> {
    out.text() = "after\n";
    co_await out.flush();
  };
  loop::run_task(loop, story());
  CHECK(read_file(path).value_or("") == "before\nafter\n");
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

TEST_CASE("out: a terminal's width is the one that it has at the moment") {
  const Fd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::unlockpt(ours.get()) == 0);
  const Fd theirs(::open(::ptsname(ours.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  loop::Loop loop;
  const Out out(loop, theirs.get());
  CHECK(out.is_terminal());
  for (const std::uint16_t width : {std::uint16_t{120}, std::uint16_t{40}}) {
    const struct winsize size { 24, width, 0, 0 };
    REQUIRE(::ioctl(ours.get(), TIOCSWINSZ, &size) == 0);
    CHECK(out.columns() == width);
  }
  const Pipe pipe = *make_pipe();
  CHECK(Out(loop, pipe.write.get()).columns() == 0);
}

}  // namespace
}  // namespace muster::cli
