#include "os/supervise/output_pipe.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "net/loop/testing.h"

using namespace muster;
using namespace muster::supervise;

namespace {

constexpr Duration guard = std::chrono::seconds(60);

/// Writes `count` lines of 100 bytes that name their writer and number, from a process of its own.
pid_t writer(const Fd& to, int rank, int count) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid > 0) return pid;
  std::string line;
  for (int i = 0; i < count; ++i) {
    line = std::to_string(rank) + " " + std::to_string(i) + " ";
    line.resize(99, 'x');
    line += '\n';
    if (!write_all(to.get(), line)) ::_exit(1);
  }
  ::_exit(0);
}

/// The lines of one writer, which must come in order, whole and with its rank.
struct Counted {
  int next = 0;
  bool broken = false;

  void take(int rank, std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string want = std::to_string(rank) + " " + std::to_string(next++) + " ";
      const std::size_t end = bytes.find('\n');
      broken = broken || end != 99 || !bytes.starts_with(want);
      if (broken) return;
      bytes.remove_prefix(end + 1);
    }
  }
};

}  // namespace

TEST_CASE("output: lines of four concurrent writers are whole, in order and under their own rank") {
  constexpr int ranks = 4;
  constexpr int lines = 20000;
  loop::Loop loop;
  std::vector<Counted> counted(ranks);
  std::vector<LastWords> words(ranks);
  std::vector<pid_t> pids;
  const OutputReader::Sink sink = [&](job::Lines chunk) -> loop::Task<> {
    CHECK(chunk.stream == job::Stream::out);
    Counted& of = counted[static_cast<std::size_t>(chunk.rank)];
    if (chunk.part)
      of.broken = true;
    else
      of.take(chunk.rank, chunk.bytes);
    co_return;
  };
  const auto read = [&](Fd pipe, int rank) -> loop::Task<> {
    const auto reader =
        std::make_shared<OutputReader>(loop, std::move(pipe), rank, job::Stream::out);
    co_await reader->run(sink, words[static_cast<std::size_t>(rank)]);
  };
  loop::Tasks readers(loop);
  for (int rank = 0; rank < ranks; ++rank) {
    Pipe pipe = *make_pipe();
    pids.push_back(writer(pipe.write, rank, lines));
    readers.start(read(std::move(pipe.read), rank));
  }
  loop::run_task(loop, readers.join(), guard);
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_FALSE(counted[static_cast<std::size_t>(rank)].broken);
    CHECK(counted[static_cast<std::size_t>(rank)].next == lines);
    CHECK(words[static_cast<std::size_t>(rank)].text().find(std::to_string(rank) + " 19999 ") !=
          std::string::npos);
  }
}

TEST_CASE("output: an unfinished line is shown after a pause, and finished at the end") {
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  std::vector<job::Lines> got;
  loop::Event came(loop);
  LastWords words;
  const OutputReader::Sink sink = [&](job::Lines chunk) -> loop::Task<> {
    got.push_back(std::move(chunk));
    came.notify();
    co_return;
  };
  const auto read = [&]() -> loop::Task<> {
    const auto reader =
        std::make_shared<OutputReader>(loop, std::move(pipe.read), 5, job::Stream::err);
    co_await reader->run(sink, words);
  };
  const auto body = [&]() -> loop::Task<> {
    const auto until = [&](std::size_t count) -> loop::Task<> {
      while (got.size() < count) co_await came.wait();
    };
    loop::Tasks reading(loop);
    reading.start(read());
    const TimePoint begin = Clock::now();
    REQUIRE(write_all(pipe.write.get(), "Password: "));
    co_await until(1);
    CHECK(Clock::now() - begin >= std::chrono::milliseconds(200));
    REQUIRE(write_all(pipe.write.get(), "****\nnext\n"));
    co_await until(2);
    REQUIRE(write_all(pipe.write.get(), "again "));
    co_await until(3);
    REQUIRE(write_all(pipe.write.get(), "half"));
    pipe.write.reset();
    co_await reading.join();
  };
  loop::run_task(loop, body(), guard);
  CHECK(got == std::vector<job::Lines>{{5, job::Stream::err, true, "Password: "},
                                       {5, job::Stream::err, false, "****\nnext\n"},
                                       {5, job::Stream::err, true, "again "},
                                       {5, job::Stream::err, false, "half\n"}});
  CHECK(words.text() == "Password: ****\nnext\nagain half");
}

TEST_CASE("output: a sink that waits holds the writer up, and nothing is lost") {
  constexpr int lines = 5000;
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  Counted counted;
  LastWords words;
  loop::Event gate(loop);
  bool open = false;
  bool blocked = false;
  const OutputReader::Sink sink = [&](job::Lines chunk) -> loop::Task<> {
    blocked = true;
    gate.notify();
    while (!open) co_await gate.wait();
    counted.take(0, chunk.bytes);
  };
  const auto read = [&]() -> loop::Task<> {
    const auto reader =
        std::make_shared<OutputReader>(loop, std::move(pipe.read), 0, job::Stream::out);
    co_await reader->run(sink, words);
  };
  const pid_t pid = writer(pipe.write, 0, lines);
  pipe.write.reset();
  const auto body = [&]() -> loop::Task<> {
    loop::Tasks reading(loop);
    reading.start(read());
    while (!blocked) co_await gate.wait();
    // The writer cannot have ended: a pipe and one read hold less than half of what it writes.
    CHECK(::waitpid(pid, nullptr, WNOHANG) == 0);
    loop::Timer quiet(loop);  // Longer than the quiet after which parts are shown.
    co_await quiet.after(std::chrono::milliseconds(250));
    CHECK(::waitpid(pid, nullptr, WNOHANG) == 0);
    CHECK(counted.next == 0);
    open = true;
    gate.notify();
    co_await reading.join();
  };
  loop::run_task(loop, body(), guard);
  CHECK(::waitpid(pid, nullptr, 0) == pid);
  CHECK_FALSE(counted.broken);
  CHECK(counted.next == lines);
}
