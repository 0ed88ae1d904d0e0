#include "host/ranks/init.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "base/process/placement.h"
#include "base/text.h"
#include "host/ranks/testing.h"

using namespace muster;
using namespace muster::ranks;

namespace {

/// `sm init` in a process of its own, with its stdout taken.
struct Init {
  explicit Init(Args args, Env env = {}, int kept = 2) {
    env.emplace("PATH", "/usr/bin:/bin");
    Pipe pipe = *make_pipe();
    const int out_fd = pipe.write.get();
    pid = fork_entry([&] { return init_main(args, env); }, redirect(out_fd), kept);
    ::dup2(saved.get(), STDOUT_FILENO);
    saved.reset();
    pipe.write.reset();
    out = std::move(pipe.read);
  }
  Init(const Init&) = delete;
  Init& operator=(const Init&) = delete;

  /// Our own stdout is the child's until it is forked.
  int redirect(int out_fd) {
    saved = Fd(::dup(STDOUT_FILENO));
    ::dup2(out_fd, STDOUT_FILENO);
    return out_fd;
  }
  /// The exit code; 1000 + signal if it was killed.
  int wait() const {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) REQUIRE(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  pid_t pid = -1;
  Fd out;
  Fd saved;
};

Args program(const std::string& script) {
  return {"--", "sh", "-c", script};
}

}  // namespace

TEST_CASE("init: it ends as its program does") {
  struct {
    const char* name;
    Args args;
    int want;
    std::string out;
  } const cases[] = {
      {"success", program("echo hi"), 0, "hi\n"},
      {"a code", program("exit 7"), 7, ""},
      {"a signal", program("kill -KILL $$"), 137, ""},
      {"another", program("kill -TERM $$"), 143, ""},
      {"arguments as they are", {"--", "printf", "%s|", "a b", "", "--", "$x"}, 0, "a b||--|$x|"},
      {"no such program",
       {"--", "no-such-program"},
       127,
       "sm init: error: no-such-program: not found"},
      {"no program", {"--"}, 2, "sm init: error: expected -- PROGRAM [ARGS]"},
      {"no separator", {"true"}, 2, "sm init: error: unexpected argument \"true\""},
      {"nothing", {}, 2, "sm init: error: expected"},
      {"no descriptor",
       {"--lifeline", "999", "--", "true"},
       2,
       "sm init: error: --lifeline 999: not an"},
      {"no list",
       {"--cpus", "all", "--", "true"},
       2,
       "sm init: error: --cpus all: expected a list like 0-3,8"},
      {"a place that is not there",
       {"--cpus", "8191", "--", "true"},
       0,
       "sm init: warning: cannot set the CPU affinity to CPUs 8191: Invalid argument"},
      {"a place",
       {"--cpus", cpu_list({own_cpus().back()}), "--memory-nodes", "0", "--", "sh", "-c",
        "grep Cpus_allowed_list: /proc/self/status"},
       0,
       "Cpus_allowed_list:\t" + cpu_list({own_cpus().back()}) + "\n"},
      {"no number", {"--lifeline", "x", "--", "true"}, 2, "sm init: error: --lifeline x: not an"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Init init(c.args);
    const std::string out = read_to_end(init.out);
    CHECK(init.wait() == c.want);
    CHECK_MESSAGE(out.starts_with(c.out), out);
  }
}

TEST_CASE("init: signals are passed on to the program") {
  const Init init(
      program("for s in TERM INT HUP QUIT USR1 USR2 WINCH CONT; do trap \"echo $s\" $s; done;"
              "trap 'echo ALRM; exit 5' ALRM; echo up; while :; do sleep 0.01; done"));
  CHECK(read_until(init.out, "up\n") == "up\n");
  struct {
    int number;
    const char* want;
  } const cases[] = {{SIGTERM, "TERM\n"},   {SIGINT, "INT\n"},   {SIGHUP, "HUP\n"},
                     {SIGQUIT, "QUIT\n"},   {SIGUSR1, "USR1\n"}, {SIGUSR2, "USR2\n"},
                     {SIGWINCH, "WINCH\n"}, {SIGCONT, "CONT\n"}, {SIGALRM, "ALRM\n"}};
  for (const auto& c : cases) {
    ::kill(init.pid, c.number);
    CHECK(read_until(init.out, "\n") == c.want);
  }
  CHECK(init.wait() == 5);
}

TEST_CASE("init: a stop reaches everyone, and those that save their work may end it") {
  const Init init({"--everyone", "--", "/bin/bash", "-c",
                   "(trap 'echo saved; exit 0' TERM; echo up; "
                   "while :; do sleep 0.05; done) & wait"});
  CHECK(read_until(init.out, "up\n") == "up\n");
  ::kill(init.pid, SIGTERM);
  // Bash reports the end of sleep, too.
  CHECK(read_until(init.out, "saved\n").ends_with("saved\n"));
  const int code = init.wait();  // Bash goes on when what it waited for has ended.
  CHECK((code == 0 || code == 128 + SIGTERM));
}

TEST_CASE("init: orphans are reaped, and the remaining ones are killed when the program ends") {
  // The orphan ends at once; `ps` must come to see no zombie of init's.
  const Init init(
      program("(setsid sh -c 'exit 0' &) ; (setsid sleep 1000 &) ; (sleep 999 &) ;"
              "while ps -o stat= --ppid $PPID | grep -q Z; do :; done; echo clean; exit 3"));
  CHECK(read_to_end(init.out) == "clean\n");  // The sleepers held it open: they are gone.
  CHECK(init.wait() == 3);
}

TEST_CASE("init: it does not end before the platform has looked at it") {
  Pipe lifeline = *make_pipe();
  const int fd = lifeline.read.get();
  const Init init({"--lifeline", std::to_string(fd), "--", "sh", "-c", "echo $$; exit 3"}, {}, fd);
  lifeline.read.reset();
  const std::optional<std::int64_t> program = parse_integer(trim(read_until(init.out, "\n")));
  REQUIRE(program);
  while (::kill(static_cast<pid_t>(*program), 0) == 0) ::sched_yield();  // Until it is reaped.
  CHECK(::waitpid(init.pid, nullptr, WNOHANG) == 0);
  REQUIRE(write_all(lifeline.write.get(), "."));
  CHECK(init.wait() == 3);
}

TEST_CASE("init: the end of its lifeline kills everything, bytes on it do not") {
  Pipe lifeline = *make_pipe();
  const int fd = lifeline.read.get();
  Args args = {
      "--lifeline", std::to_string(fd),
      "--",         "sh",
      "-c",         "trap '' TERM; (setsid sleep 1000 &); ls /proc/self/fd; echo up; sleep 999"};
  const Init init(args, {}, fd);
  lifeline.read.reset();
  REQUIRE(write_all(lifeline.write.get(), "still here"));
  // The program has no part of the lifeline.
  CHECK(split_words(read_until(init.out, "up\n")) == Args{"0", "1", "2", "3", "up"});
  ::kill(init.pid, SIGTERM);  // Ignored by the program.
  CHECK(::waitpid(init.pid, nullptr, WNOHANG) == 0);
  lifeline.write.reset();
  CHECK(read_to_end(init.out).empty());
  CHECK(init.wait() == 137);
}

TEST_CASE("init: the steward's stream is passed to the program, its only holder") {
  Pipe stream = *make_pipe();
  const int fd = stream.write.get();
  REQUIRE(fd < 10);  // sh takes one digit only.
  const std::string number = std::to_string(fd);
  const Init init(program("echo told >&" + number + "; exec " + number +
                          ">&-; echo up; while :; do sleep 0.01; done"),
                  {{"MUSTER_STEWARD_FD", number}}, fd);
  stream.write.reset();
  CHECK(read_to_end(stream.read) == "told\n");
  CHECK(read_until(init.out, "up\n") == "up\n");
  ::kill(init.pid, SIGTERM);
  CHECK(init.wait() == 143);
}

TEST_CASE("init: as process 1 it ends alike, and its end is the end of all") {
  const pid_t outer = fork_entry([] {
    if (::unshare(CLONE_NEWPID) != 0) return 77;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pid_t first = ::fork();
    if (first == 0) {
      const Env env = {{"PATH", "/usr/bin:/bin"}};
      ::_exit(init_main({"--", "sh", "-c", "(setsid sleep 1000 &); kill -TERM $$"}, env));
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  });
  int status = 0;
  ::waitpid(outer, &status, 0);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    MESSAGE("skipped: this user may not make a pid namespace");
    return;
  }
  CHECK(WEXITSTATUS(status) == 143);
}
