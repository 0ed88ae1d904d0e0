#include "host/calls/output.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <unistd.h>

#include "host/calls/testing.h"

namespace muster::calls {
namespace {

using job::Lines;
using job::Message;
using job::Stream;

/// An Output whose standard output and error are files of the test's.
struct Bench {
  void open(int out, int err) {
    const Fd own_out(::dup(STDOUT_FILENO));
    const Fd own_err(::dup(STDERR_FILENO));
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    run();
    ::dup2(own_out.get(), STDOUT_FILENO);
    ::dup2(own_err.get(), STDERR_FILENO);
  }
  void run() {
    Output output(loop, steward);
    const auto body = [](Bench& self, Output& to) -> loop::Task<> {
      co_await self.tell(to);
      co_await to.flushed(Clock::now() + std::chrono::seconds(20));
    };
    loop::run_task(loop, body(*this, output));
  }
  loop::Task<> tell(Output& to) {
    if (tagged) to.tag_ranks();
    for (const Lines& each : users) co_await to.lines("algo-1", each);
    for (const Lines& each : launchers) co_await to.launcher_lines(each);
    job::Verdict verdict;
    verdict.outcome = job::Outcome::exited(3);
    to.ended(verdict);
    to.verdict(verdict);
    for (const std::string& record : records) to.health("algo-2", record);
    to.rank_started({3, 4711});
  }

  loop::Loop loop;
  std::optional<int> steward;
  bool tagged = false;
  std::vector<Lines> users;
  std::vector<Lines> launchers;
  std::vector<std::string> records;  ///< What a preflight found.
};

TEST_CASE_FIXTURE(Bench, "output: without a steward users' lines go where they were written to") {
  users = {{.rank = 0, .stream = Stream::out, .bytes = "to out\n"},
           {.rank = 0, .stream = Stream::err, .bytes = "to err\n"}};
  launchers = {{.rank = -1, .stream = Stream::out, .bytes = "mpirun says\n"}};
  records = {R"({"at":1})"};
  const Paper out;
  const Paper err;
  open(out.file.get(), err.file.get());
  CHECK(out.text() == "to out\n");
  CHECK(err.text() == "to err\nmpirun says\n");
}

TEST_CASE_FIXTURE(Bench, "output: lines of ranks say whose they are, once several may write") {
  tagged = true;
  users = {{.rank = 2, .stream = Stream::out, .bytes = "hello\n"},
           {.rank = -1, .stream = Stream::out, .bytes = "no rank\n"}};
  const Paper out;
  const Paper err;
  open(out.file.get(), err.file.get());
  CHECK(out.text() == "[1,mpirank:2,algo-1]<stdout>:hello\nno rank\n");
}

TEST_CASE_FIXTURE(Bench, "output: a terminal gets no signs that would steer it") {
  int screen = -1;
  int terminal = -1;
  REQUIRE(::openpty(&screen, &terminal, nullptr, nullptr, nullptr) == 0);
  const Fd shown(screen);
  const Fd own(terminal);
  users = {{.rank = 0, .stream = Stream::out, .bytes = "a\x1b]0;title\ab\n"}};
  const Paper err;
  open(own.get(), err.file.get());
  std::string text(4096, '\0');
  const ssize_t count = ::read(shown.get(), text.data(), text.size());
  REQUIRE(count > 0);
  text.resize(static_cast<std::size_t>(count));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('a') == 0);
}

TEST_CASE_FIXTURE(Bench, "output: a steward gets everything, each as its own kind, in order") {
  const Paper stream;
  steward = stream.file.get();
  users = {{.rank = 1, .stream = Stream::err, .bytes = "a line\n"}};
  launchers = {{.rank = 7, .stream = Stream::out, .bytes = "mpirun says\n"}};
  records = {"no JSON", R"({"at":1})"};
  run();
  FrameReader reader;
  reader.feed(stream.text());
  std::vector<Frame> frames;
  for (Result<std::optional<Frame>> next = reader.next(); next && *next; next = reader.next())
    frames.push_back(**next);
  REQUIRE(frames.size() == 6);
  CHECK(frames[0].type == job::type_of(Message::lines));
  CHECK(*job::lines_from(frames[0].payload) ==
        Lines{.rank = 1, .stream = Stream::err, .bytes = "a line\n", .alone = true});
  CHECK(job::lines_from(frames[1].payload)->rank == -1);
  CHECK(job::lines_from(frames[1].payload)->stream == Stream::err);
  CHECK(frames[2].type == job::type_of(Message::outcome));
  CHECK(frames[3].type == job::type_of(Message::verdict));
  CHECK(frames[4].type == job::type_of(Message::preflight_facts));
  CHECK(frames[4].payload == R"({"host":"algo-2","record":{"at":1}})");
  CHECK(frames[5].type == job::type_of(Message::rank_started));
  CHECK(frames[5].payload == R"({"pid":4711,"rank":3})");
}

}  // namespace
}  // namespace muster::calls
