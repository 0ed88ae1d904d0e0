#include "toolkit/options.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "toolkit/job_key.h"
#include "toolkit/messages.h"
#include "toolkit/writer.h"

namespace muster::toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("train options: flags win over variables, those over the defaults") {
  const TrainOptions standard = *train_options({}, {});
  CHECK(standard.port == 9730);
  CHECK(standard.join_deadline == seconds(900));
  CHECK(standard.stop_grace == seconds(30));
  const Env env = {{"MUSTER_ROLLCALL_PORT", "1234"}, {"MUSTER_STOP_DEADLINE", "2.5"}};
  const TrainOptions options = *train_options({"--port=99", "--lost-after", "7"}, env);
  CHECK(options.port == 99);
  CHECK(options.stop_grace == milliseconds(2500));
  CHECK(options.lost_after == seconds(7));
  CHECK(train_options({"train"}, {}));
}

TEST_CASE("train options: what is wrong is named with what was expected") {
  const struct {
    Args args;
    Env env;
    const char* says;
  } cases[] = {
      {{"--port", "0"}, {}, "--port is \"0\", expected a port"},
      {{"--port"}, {}, "unknown argument \"--port\""},
      {{"--prot", "1"}, {}, "unknown argument \"--prot\""},
      {{"--grace", "soon"}, {}, "--grace is \"soon\", expected seconds"},
      {{"--grace", "-1"}, {}, "expected seconds"},
      {{"--grace", "nan"}, {}, "expected seconds"},
      {{"--heartbeat", "0"}, {}, "--heartbeat is 0, too short"},
      {{}, {{"MUSTER_ROLLCALL_PORT", "65536"}}, "MUSTER_ROLLCALL_PORT is \"65536\""},
      {{}, {{"MUSTER_JOIN_DEADLINE", ""}}, "MUSTER_JOIN_DEADLINE is \"\""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.says);
    const Result<TrainOptions> options = train_options(c.args, c.env);
    REQUIRE(!options);
    CHECK(options.error().code == Errc::invalid_input);
    CHECK(options.error().text.find(c.says) != std::string::npos);
  }
}

TEST_CASE("user environment: nothing of muster's own is in it") {
  const Env env = {{"PATH", "/bin"}, {"MUSTER_JOB_KEY", "x"}, {"MUSTER_SOCKET", "/s"}};
  CHECK(user_environment(env) == Env{{"PATH", "/bin"}});
}

TEST_CASE("job key: from a file, a variable, or by request from the name, with a warning") {
  const std::string folder = *make_private_folder("/tmp", "muster-key-");
  const std::string key(32, 'k');
  REQUIRE(write_file(folder + "/key", hex(key) + "\n", 0600));
  CHECK(job_key({{"MUSTER_JOB_KEY_FILE", folder + "/key"}})->bytes == key);
  CHECK(job_key({{"MUSTER_JOB_KEY", hex(key)}})->warning.empty());
  const auto named = [](const char* variable, const char* value) {
    return job_key({{variable, value}, {"MUSTER_JOB_KEY_FROM_NAME", "1"}});
  };
  const JobKey derived = *named("TRAINING_JOB_NAME", "a");
  CHECK(derived.bytes.size() == 32);
  CHECK(!derived.warning.empty());
  CHECK(derived.bytes == named("TRAINING_JOB_NAME", "a")->bytes);
  CHECK(derived.bytes != named("TRAINING_JOB_NAME", "b")->bytes);
  CHECK(derived.bytes != named("TRAINING_JOB_ARN", "a")->bytes);
  for (const char* wish : {"", "0", "true", "11"})
    CHECK(job_key({{"TRAINING_JOB_NAME", "a"}, {"MUSTER_JOB_KEY_FROM_NAME", wish}}).error().code ==
          Errc::invalid_input);
  const std::string none = job_key({{"TRAINING_JOB_NAME", "a"}}).error().text;
  for (const char* way : {"MUSTER_JOB_KEY_FILE", "MUSTER_JOB_KEY ", "MUSTER_JOB_KEY_FROM_NAME=1"})
    CHECK(none.find(way) != std::string::npos);
  CHECK(job_key({{"MUSTER_JOB_KEY", "abc"}}).error().code == Errc::invalid_input);
  CHECK(job_key({{"MUSTER_JOB_KEY_FILE", folder + "/none"}}).error().code == Errc::not_found);
}

TEST_CASE("messages: what one side writes the other reads") {
  CHECK(signal_from(signal_text(2, seconds(3))).signal == 2);
  CHECK(signal_from(signal_text(2, seconds(3))).grace == seconds(3));
  CHECK(grace_from(grace_text(milliseconds(1500))) == milliseconds(1500));
  CHECK(exec_from(exec_text({7, "orted 'a b'"}))->text == "orted 'a b'");
  const ExecEnd end = *exec_end_from(exec_end_text({7, job::Outcome::signaled(9)}));
  CHECK(end.id == 7);
  CHECK(end.outcome == job::Outcome::signaled(9));
}

TEST_CASE("messages: broken payloads are refused, a broken signal is a plain stop") {
  for (const char* bad : {"", "[]", "{", "{\"text\":[]}", "7"}) {
    CAPTURE(bad);
    CHECK(!exec_from(bad));
    CHECK(!exec_end_from(bad));
    CHECK(signal_from(bad).signal == 15);
    CHECK(signal_from(bad).grace == Duration());
  }
  CHECK(signal_from("{\"signal\":9999}").signal == 15);
  CHECK(!verdict_from_text("[]"));
}

/// Reads from a pipe until its writers are gone.
loop::Task<> read_all(loop::Loop& loop, int fd, std::string& text) {
  loop::Watch watch(loop, fd);
  char buffer[4096];
  while (co_await watch.readable()) {
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
  loop.spawn(read_all(loop, pipe.read.get(), text));
  loop.spawn(fill(loop, pipe.write.get(), pipe, posted));
  loop.run();
  CHECK(posted == 3000000);
  REQUIRE(text.size() == posted);
  bool ordered = true;
  for (std::size_t i = 0; i < 300; ++i)
    ordered = ordered && text[i * 10000] == static_cast<char>('a' + i % 26) &&
              text[i * 10000 + 9999] == '\n';
  CHECK(ordered);
}

TEST_CASE("writer: a reader that is gone holds nobody up") {
  std::signal(SIGPIPE, SIG_IGN);
  loop::Loop loop;
  Pipe pipe = *make_pipe();
  pipe.read.reset();
  std::size_t posted = 0;
  loop.spawn(fill(loop, pipe.write.get(), pipe, posted));
  loop.run();
  CHECK(posted == 3000000);
}

}  // namespace
}  // namespace muster::toolkit
