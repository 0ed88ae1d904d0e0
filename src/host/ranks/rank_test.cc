#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "host/ranks/rank_testing.h"
#include "host/ranks/socket_client.h"
#include "job/wire/message.h"

using namespace muster;
using namespace muster::ranks;
using job::Message;
using job::type_of;

TEST_CASE(
    "rank: the host's command runs, its output arrives by stream, and all ends are the same") {
  struct {
    const char* name;
    std::string script;
    Outcome want;
  } const cases[] = {
      {"success", "echo out; echo err >&2", Outcome::exited(0)},
      {"a code", "echo out; echo err >&2; exit 3", Outcome::exited(3)},
      {"a fault", "ulimit -c 0; echo out; echo err >&2; kill -SEGV $$", Outcome::signaled(SIGSEGV)},
      {"kill -9", "echo out; echo err >&2; kill -KILL $$", Outcome::signaled(SIGKILL)},
      {"a polite signal", "echo out; echo err >&2; kill -TERM $$", Outcome::signaled(SIGTERM)},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Host host;
    host.run.command.argv = shell(c.script);
    const pid_t pid = host.start(5);
    loop::run_task(host.loop, host.until_ended(5), guard);
    CHECK(host.ends[5] == std::vector{c.want});
    CHECK(host.exits.at(5) == c.want);
    CHECK(host.text[{5, job::Stream::out}] == "out\n");
    CHECK(host.text[{5, job::Stream::err}] == "err\n");
    REQUIRE(host.hellos.size() == 1);
    CHECK(host.hellos[0].rank == 5);
    CHECK(host.hellos[0].local_rank == 1);
    CHECK(host.hellos[0].pid == pid);
  }
}

TEST_CASE("rank: the program's pid is reported when it starts") {
  Host host;
  host.run.command.argv = shell("echo $$");
  host.start(5);
  loop::run_task(host.loop, host.until_ended(5), guard);
  CHECK(host.out(5) == std::to_string(host.pids[5]) + "\n");
}

TEST_CASE("rank: arguments and environment arrive byte for byte over the launcher's own") {
  Host host;
  const std::string odd = "a b;$(id) `id`\n'\" =: \xff\xc3\xa4";
  host.run.command.argv = {"sh", "-c", "printf '%s|' \"$@\"; env -0", "sh", odd, "", "-x", ":"};
  host.run.command.env["ODD"] = odd;
  host.run.command.env["BOTH"] = "train's";
  host.run.command.env["KEPT"] = "train's";
  host.run.command.env["KEPT_UNSET"] = "train's";
  host.run.command.cwd = host.folder;
  host.run.kept = {"KEPT", "KEPT_UNSET"};
  host.start(0, {{"OMPI_ODD", "x\ny"},
                 {"BOTH", "mpirun's"},
                 {"KEPT", "mpirun's"},
                 {"MUSTER_JOB_KEY", "secret"},
                 {"MUSTER_AGENT", "1"}});
  loop::run_task(host.loop, host.until_ended(0), guard);
  const std::string text = host.out(0);
  CHECK(text.starts_with(odd + "||-x|:|"));
  const auto has = [&text](const std::string& variable) {
    return text.find(variable + '\0') != std::string::npos;
  };
  CHECK(has("ODD=" + odd));
  CHECK(has("BOTH=train's"));
  CHECK(has("KEPT=mpirun's"));
  CHECK(has("KEPT_UNSET=train's"));
  CHECK(has("OMPI_ODD=x\ny"));
  CHECK(has("OMPI_COMM_WORLD_RANK=0"));
  CHECK(has("PWD=" + host.folder));
  CHECK(has("MUSTER_SOCKET=" + host.path));
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("MUSTER_AGENT") == std::string::npos);
}

TEST_CASE("rank: the program has 0, 1 and 2 open and leads a separate process group") {
  Host host;
  host.run.command.argv = shell("ls /proc/self/fd; ps -o pgid= -p $$ | tr -d ' '; echo $$");
  host.start(0);
  loop::run_task(host.loop, host.until_ended(0), guard);
  const Args words = split_words(host.out(0));
  REQUIRE(words.size() == 6);  // ls has the folder open as 3.
  CHECK(Args(words.begin(), words.begin() + 4) == Args{"0", "1", "2", "3"});
  CHECK(words[4] == words[5]);
}

TEST_CASE(
    "rank: the launcher's words for a rank stand over what its host has of an outer launcher") {
  Host host;
  host.run.command.argv = {"env", "-0"};
  host.run.command.env["OMPI_COMM_WORLD_RANK"] = "77";
  host.run.command.env["PMI_SIZE"] = "77";
  host.start(0);
  loop::run_task(host.loop, host.until_ended(0), guard);
  CHECK(host.out(0).find("OMPI_COMM_WORLD_RANK=0") != std::string::npos);
  CHECK(host.out(0).find("PMI_SIZE=77") != std::string::npos);  // No other report contradicts it.
}

TEST_CASE(
    "rank: a program that cannot be started is reported to the host, and the exit code is 127") {
  Host host;
  host.run.command.argv = {"/no/such/program"};
  host.start(0);
  loop::run_task(host.loop, host.until_ended(0), guard);
  CHECK(host.ends[0] == std::vector{Outcome::failed("/no/such/program: no such program")});
  CHECK(host.exits.at(0) == Outcome::exited(127));
  CHECK(host.started.empty());
}

TEST_CASE(
    "rank: without train, without mpirun or refused it says so in one line, and ends with 127") {
  struct {
    const char* name;
    Env env;
    std::string refusal;
    std::string want;
  } const cases[] = {
      {"no socket named", {{"MUSTER_SOCKET", ""}}, "", "MUSTER_SOCKET is not a socket"},
      {"nobody there",
       {{"MUSTER_SOCKET", "/no/such/socket"}},
       "",
       "cannot connect to /no/such/socket: No such file or directory"},
      {"no rank", {{"OMPI_COMM_WORLD_RANK", ""}}, "", "not started by mpirun"},
      {"refused", {}, "the job is ending", "the job is ending"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Host host;
    host.refusal = c.refusal;
    Pipe err = *make_pipe();
    host.start(0, c.env, err.write.get());
    err.write.reset();
    loop::run_task(host.loop, host.until_ended(0), guard);
    const std::string text = read_to_end(err.read);
    CHECK(host.exits.at(0) == Outcome::exited(127));
    CHECK_MESSAGE(text.find(c.want) != std::string::npos, text);
    CHECK(text.find('\n') == text.size() - 1);
    CHECK(host.ends.empty());
  }
}

TEST_CASE("rank: a second process that claims a running rank is refused, and the first continues") {
  Host host;
  host.run.command.argv = shell("echo up; read line; exit 4");
  const Env env = {{"OMPI_COMM_WORLD_RANK", "0"}, {"MUSTER_SOCKET", host.path}};
  const auto body = [&]() -> loop::Task<> {
    Pipe in = *make_pipe();
    const int saved = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ::dup2(in.read.get(), 0);
    host.start(0);
    ::dup2(saved, 0);
    ::close(saved);
    co_await host.until_says(0, "up");
    Pipe err = *make_pipe();
    const pid_t second = fork_entry([&] { return rank_main({}, env); }, err.write.get());
    err.write.reset();
    std::optional<Outcome> ended;
    host.reaper.watch(second, [&](Outcome outcome) {
      ended = std::move(outcome);
      host.moved.notify();
    });
    co_await host.until([&] { return ended.has_value(); });
    CHECK(*ended == Outcome::exited(127));
    CHECK(read_to_end(err.read).find("rank 0 is already running") != std::string::npos);
    CHECK(host.ends.empty());
    REQUIRE(write_all(in.write.get(), "go\n"));  // The rank's stdin is the launcher's.
    co_await host.until_ended(0);
  };
  loop::run_task(host.loop, body(), guard);
  CHECK(host.exits.at(0) == Outcome::exited(4));
}

TEST_CASE("rank: signals of the host and of the launcher reach the program and its group") {
  Host host;
  // A child in the background says when it gets the signal too; both go on after USR1.
  host.run.command.argv = shell(
      "trap 'echo one USR1' USR1; trap 'echo one TERM; exit 9' TERM;"
      "(trap 'echo two USR1' USR1; trap 'echo two TERM; exit' TERM; echo two up;"
      " while :; do sleep 0.01; done) & echo one up; while :; do sleep 0.01; done");
  const auto body = [&](bool by_host) -> loop::Task<> {
    const pid_t pid = host.start(0);
    const auto send = [&](int number) {
      if (by_host)
        host.socket->signal_ranks(number);
      else
        ::kill(pid, number);
    };
    co_await host.until_says(0, "one up");
    co_await host.until_says(0, "two up");
    send(SIGUSR1);
    co_await host.until_says(0, "one USR1");
    co_await host.until_says(0, "two USR1");
    send(SIGTERM);
    co_await host.until_ended(0);
    CHECK(host.out(0).find("two TERM") != std::string::npos);
    CHECK(host.exits.at(0) == Outcome::exited(9));
    CHECK(host.ends[0] == std::vector{Outcome::exited(9)});
  };
  SUBCASE("the host's") {
    loop::run_task(host.loop, body(true), guard);
  }
  SUBCASE("the launcher's") {
    loop::run_task(host.loop, body(false), guard);
  }
}

TEST_CASE("rank: signals sent close together all arrive") {
  // Both frames come in one read; the second must not wait for a third.
  for (int i = 0; i < 20; ++i) {
    Host host;
    host.run.command.argv = shell("trap '' TERM; echo up; while :; do sleep 0.01; done");
    const auto body = [&]() -> loop::Task<> {
      host.start(0);
      co_await host.until_says(0, "up");
      host.socket->signal_ranks(SIGTERM);
      host.socket->signal_ranks(SIGKILL);
      co_await host.until_ended(0);
    };
    loop::run_task(host.loop, body(), guard);
    CHECK(host.exits.at(0) == Outcome::signaled(SIGKILL));
  }
}

TEST_CASE("rank: a signal that came in one piece with the command still reaches the program") {
  const std::string folder = *make_private_folder("/tmp", "muster-rank-");
  const std::string path = folder + "/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const Env env = {{"OMPI_COMM_WORLD_RANK", "0"}, {"MUSTER_SOCKET", path}};
  const pid_t pid = fork_entry([&env] { return rank_main({}, env); });
  const Fd rank(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string bytes;
  // The payload of docs/protocols/host-socket.md: no place, 3 arguments, none kept, no folder.
  const std::string command =
      std::string("\0003\0000\0\0", 6) + std::string("sleep\0001000\0001000\0", 16);
  append_frame(bytes, type_of(Message::rank_run), command + "PATH=/usr/bin:/bin" + '\0');
  append_frame(bytes, type_of(Message::signal), to_text({{"signal", SIGUSR1}}));
  append_frame(bytes, type_of(Message::signal), to_text({{"signal", SIGKILL}}));
  REQUIRE(write_all(rank.get(), bytes));
  FrameReader reader;
  std::array<char, 4096> buffer;
  std::optional<Frame> end;
  while (!end || end->type != type_of(Message::rank_end)) {
    const ssize_t count = ::read(rank.get(), buffer.data(), buffer.size());
    REQUIRE(count > 0);
    reader.feed({buffer.data(), static_cast<std::size_t>(count)});
    for (Result<std::optional<Frame>> frame = reader.next(); frame && *frame; frame = reader.next())
      end = *frame;
  }
  const Result<Json> json = parse_json(end->payload);
  REQUIRE(json);
  CHECK(job::outcome_from((*json)["outcome"]).value_or({}) == Outcome::signaled(SIGUSR1));
  bytes.clear();
  append_frame(bytes, type_of(Message::signal), to_text({{"signal", SIGTERM}}));
  append_frame(bytes, type_of(Message::rank_ack), "{}");  // Behind another in one piece too.
  const TimePoint begin = Clock::now();
  REQUIRE(write_all(rank.get(), bytes));
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(Clock::now() - begin < std::chrono::seconds(4));  // The wait for an ack is 5 s.
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("rank: a signal while the program ends does not delay its end") {
  for (int i = 0; i < 20; ++i) {
    Host host;
    host.hold_ends = true;
    host.run.command.argv = shell("kill -TERM $$");
    const auto body = [&]() -> loop::Task<> {
      const pid_t pid = host.start(0);
      co_await host.until([&] { return host.ends.contains(0); });
      ::kill(pid, SIGHUP);  // Pending in `sm rank`; it must end as its program did.
      host.hold_ends = false;
      host.moved.notify();
      co_await host.until_ended(0);
    };
    const TimePoint begin = Clock::now();
    loop::run_task(host.loop, body(), guard);
    CHECK(host.exits.at(0) == Outcome::signaled(SIGTERM));
    CHECK(Clock::now() - begin < std::chrono::seconds(4));  // The wait for an ack is 5 s.
  }
}

TEST_CASE("rank: it waits until the host has received its end") {
  Host host;
  host.hold_ends = true;
  host.run.command.argv = {"true"};
  const auto body = [&]() -> loop::Task<> {
    const pid_t pid = host.start(0);
    co_await host.until([&] { return host.ends.contains(0); });
    loop::Timer turn(host.loop);
    co_await turn.after(std::chrono::milliseconds(50));
    CHECK(::kill(pid, 0) == 0);
    CHECK(host.exits.empty());
    host.hold_ends = false;
    host.moved.notify();
    co_await host.until_ended(0);
  };
  loop::run_task(host.loop, body(), guard);
  CHECK(host.exits.at(0) == Outcome::exited(0));
}

TEST_CASE("rank: kill -9 of sm rank kills its program, and the host is informed") {
  Host host;
  host.run.command.argv = shell("echo up; exec sleep 1000");
  const auto body = [&]() -> loop::Task<> {
    const pid_t pid = host.start(0);
    co_await host.until_says(0, "up");
    ::kill(pid, SIGKILL);
    co_await host.until_ended(0);  // The output has ended too: the program is gone.
    co_await host.until([&] { return host.ends.contains(0); });
  };
  loop::run_task(host.loop, body(), guard);
  CHECK(host.ends[0] == std::vector{Outcome::signaled(SIGKILL)});
  CHECK(host.unseen.contains(0));
  CHECK(host.exits.at(0) == Outcome::signaled(SIGKILL));
}

TEST_CASE("rank: when train is gone the program is killed, and what it started in its group") {
  Host host;
  host.run.command.argv = shell("trap '' TERM; sleep 1000 & echo up; wait");
  const auto body = [&]() -> loop::Task<> {
    host.start(0);
    co_await host.until_says(0, "up");
    host.socket.reset();
    co_await host.until_ended(0);
  };
  loop::run_task(host.loop, body(), guard);
  CHECK(host.exits.at(0) == Outcome::exited(127));
  CHECK(host.ends.empty());  // No further callbacks.
  CHECK_FALSE(std::filesystem::exists(host.path));
}

TEST_CASE("rank: many ranks at once each get their own end") {
  Host host;
  host.run.command.argv = shell("echo $OMPI_COMM_WORLD_RANK; exit $OMPI_COMM_WORLD_RANK");
  for (int rank = 0; rank < 40; ++rank) host.start(rank);
  loop::run_task(host.loop,
                 host.until([&] { return host.exits.size() == 40 && host.reads.size() == 0; }),
                 guard);
  for (int rank = 0; rank < 40; ++rank) {
    CHECK(host.ends[rank] == std::vector{Outcome::exited(rank)});
    CHECK(host.exits.at(rank) == Outcome::exited(rank));
    CHECK(host.out(rank) == std::to_string(rank) + "\n");
  }
}

TEST_CASE("rank: a launcher that ignores SIGCHLD does not hide the program's end") {
  Host host;
  host.run.command.argv = shell("exit 6");
  const Env env = {{"OMPI_COMM_WORLD_RANK", "0"}, {"MUSTER_SOCKET", host.path}};
  const pid_t pid = fork_entry([&env] {
    ::signal(SIGCHLD, SIG_IGN);
    return rank_main({}, env);
  });
  host.reaper.watch(pid, [&](Outcome outcome) {
    host.exits.emplace(0, std::move(outcome));
    host.moved.notify();
  });
  loop::run_task(host.loop, host.until_ended(0), guard);
  CHECK(host.exits.at(0) == Outcome::exited(6));
}

TEST_CASE("host socket: only its owner may connect, and its path is removed with it") {
  Host host;
  struct stat info {};
  REQUIRE(::stat(host.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  host.socket.reset();
  CHECK_FALSE(std::filesystem::exists(host.path));
}

TEST_CASE("host socket: a connection that speaks nonsense is closed, and the others go on") {
  Host host;
  host.run.command.argv = shell("echo up; exec sleep 1000");
  const std::string hello = to_text({{"rank", 7}, {"local_rank", 0}, {"pid", 1}});
  // Out here: GCC 12 frees a braced list's temporaries twice inside a coroutine.
  const std::vector<std::vector<Frame>> cases = {
      {{200, "x"}},
      {{type_of(Message::rank_end), "{}"}},
      {{type_of(Message::rank_hello), "no json"}},
      {{type_of(Message::rank_hello), "[]"}},
      {{type_of(Message::rank_hello), R"({"rank":-3})"}},
      {{type_of(Message::rank_hello), R"({"rank":"0"})"}},
      {{type_of(Message::rank_hello), R"({"rank":4294967303})"}},      // 7 in 32 bits.
      {{type_of(Message::agent_exec), R"({"host":"a","text":"b"})"}},  // Without descriptors.
      {{type_of(Message::rank_hello), hello}, {type_of(Message::rank_end), "{"}},
      {{type_of(Message::rank_hello), hello}, {type_of(Message::rank_end), "{}"}},
      {{type_of(Message::rank_hello), hello}, {type_of(Message::rank_end), R"({"outcome":7})"}},
      {{type_of(Message::rank_hello), hello}, {type_of(Message::rank_started), "{}"}},
  };
  const auto body = [&]() -> loop::Task<> {
    const pid_t good = host.start(0);
    co_await host.until_says(0, "up");
    for (const std::vector<Frame>& frames : cases) {
      CAPTURE(frames.back().payload);
      Result<SocketClient> client = SocketClient::connect(host.path);
      REQUIRE(client);
      for (const Frame& frame : frames) REQUIRE(client->send(frame.type, frame.payload));
      std::size_t answers = 0;
      loop::Watch watch(host.loop, client->fd());
      while (true) {
        REQUIRE(co_await watch.readable());
        Result<std::optional<Frame>> frame = client->receive_some();
        while (frame && *frame) {
          ++answers;
          frame = client->received();
        }
        if (!frame) break;
      }
      CHECK(answers <= 2);
    }
    CHECK(host.ends[7].size() == 4);
    for (const Outcome& end : host.ends[7]) CHECK(end.kind == Outcome::Kind::failed);
    CHECK(host.ends.size() == 1);
    ::kill(good, SIGKILL);
    co_await host.until_ended(0);
  };
  loop::run_task(host.loop, body(), guard);
}

TEST_CASE(
    "host socket: a command too long for a frame is refused by name, and its end is reported") {
  Host host;
  host.run.command.argv = {"true"};
  for (int i = 0; i < 12; ++i)
    host.run.command.env["LONG" + std::to_string(i)] = std::string(100'000, 'x');
  Pipe err = *make_pipe();
  host.start(0, {}, err.write.get());
  err.write.reset();
  loop::run_task(host.loop, host.until_ended(0), guard);
  const std::string why = "the arguments and the environment are larger than 1 MiB";
  CHECK(host.ends[0] == std::vector{Outcome::failed(why)});
  CHECK(host.exits.at(0) == Outcome::exited(127));
  CHECK(read_to_end(err.read).find(why) != std::string::npos);
}

TEST_CASE("host socket: an agent's call carries its output and gets its response") {
  Host host;
  Pipe out = *make_pipe();
  Pipe err = *make_pipe();
  const std::vector<int> fds = {out.write.get(), err.write.get()};
  const std::string payload = to_text({{"host", "algo-2"}, {"text", "orted -x 'a b'"}});
  const auto body = [&]() -> loop::Task<> {
    Result<SocketClient> agent = SocketClient::connect(host.path);
    REQUIRE(agent);
    REQUIRE(agent->send(type_of(Message::agent_exec), payload, fds));
    out.write.reset();
    err.write.reset();
    co_await host.until([&] { return !host.calls.empty(); });
    AgentCall& call = host.calls.front();
    CHECK(call.host == "algo-2");
    CHECK(call.text == "orted -x 'a b'");
    REQUIRE(write_all(call.out.get(), "to out"));
    REQUIRE(write_all(call.err.get(), "to err"));
    call.out.reset();
    call.err.reset();
    call.reply(7, "no such host");
    loop::Watch watch(host.loop, agent->fd());
    REQUIRE(co_await watch.readable());
    const Result<std::optional<Frame>> frame = agent->receive_some();
    REQUIRE((frame && *frame));
    CHECK((*frame)->type == type_of(Message::agent_end));
    CHECK((*frame)->payload == R"({"code":7,"error":"no such host"})");
  };
  loop::run_task(host.loop, body(), guard);
  CHECK(read_to_end(out.read) == "to out");
  CHECK(read_to_end(err.read) == "to err");
}

TEST_CASE("rank: a program given on its line runs in the environment that its launcher made") {
  struct {
    const char* name;
    Args args;
    std::string want;
  } const cases[] = {
      {"as it stands",
       {"--", "sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "--", ""},
       "a b|--||\n"},
      {"with its local rank",
       {"--local-rank-at", "5", "--", "sh", "-c", "printf '%s|' \"$@\"", "sh", "t.py", "-x"},
       "t.py|--local_rank=1|-x|\n"},
      {"variables",
       {"--", "sh", "-c", "echo $RANK $LOCAL_RANK $BOTH $MUSTER_JOB_KEY."},
       "3 1 launcher's .\n"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Host host;
    host.run.command.argv = {"false"};
    host.run.command.env["BOTH"] = "train's";
    host.start_line(3, c.args,
                    {{"PATH", "/usr/bin:/bin"},
                     {"RANK", "3"},
                     {"LOCAL_RANK", "1"},
                     {"OMPI_COMM_WORLD_RANK", "7"},
                     {"BOTH", "launcher's"},
                     {"MUSTER_JOB_KEY", "secret"}});
    loop::run_task(host.loop, host.until_ended(3), guard);
    CHECK(host.out(3) == c.want);
    REQUIRE(host.hellos.size() == 1);
    CHECK(host.hellos[0].brings_program);
    CHECK(host.hellos[0].local_rank == 1);
  }
}

TEST_CASE("rank: a line without RANK or without a program is one line of error") {
  struct {
    Args args;
    Env env;
    std::string_view want;
  } const cases[] = {
      {{"--", "true"},
       {},
       "RANK is not set: this process was not started by torchrun or DeepSpeed's launcher"},
      {{"--"}, {{"RANK", "0"}}, "expected [--local-rank-at N] -- PROGRAM"},
      {{"--local-rank-at", "2", "--", "true"},
       {{"RANK", "0"}},
       "expected [--local-rank-at N] -- PROGRAM"},
      {{"true"}, {{"RANK", "0"}}, "expected [--local-rank-at N] -- PROGRAM"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    Host host;
    Pipe said = *make_pipe();
    host.start_line(0, c.args, c.env, said.write.get());
    said.write.reset();
    loop::run_task(host.loop, host.until_ended(0), guard);
    char text[512] = {};
    CHECK(::read(said.read.get(), text, sizeof(text) - 1) > 0);
    CHECK(std::string_view(text).find(c.want) != std::string_view::npos);
    CHECK(host.exits.at(0) == Outcome::exited(127));
    CHECK(host.hellos.empty());
  }
}

TEST_CASE("rank: output that its launcher redirects to a file stays there") {
  Host host;
  const std::string file = host.folder + "/stderr.log";
  const Fd log(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  host.start_line(0, {"--", "sh", "-c", "echo out; echo err >&2"},
                  {{"PATH", "/usr/bin:/bin"}, {"RANK", "0"}}, log.get());
  loop::run_task(host.loop, host.until_ended(0), guard);
  CHECK(host.out(0) == "out\n");
  CHECK(host.text[{0, job::Stream::err}].empty());
  CHECK(*read_file(file) == "err\n");
}
