#include "os/supervise/spawn.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

using namespace muster;
using namespace muster::supervise;

namespace {

/// A folder of its own for each test.
struct Folder {
  std::string path = *make_private_folder("/tmp", "muster-spawn-");
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  std::string file(const std::string& name, const std::string& text, unsigned mode) const {
    REQUIRE(write_file(path + "/" + name, text, mode));
    return path + "/" + name;
  }
};

const Env default_env = {{"PATH", "/usr/bin:/bin"}};

struct Ran {
  std::string out;
  int status = 0;
};

/// Runs a command to its end with its stdout and stderr taken.
Ran run(const Command& command, Stdio stdio = {}, const SpawnOptions& options = {}) {
  Pipe pipe = *make_pipe();
  stdio.out = stdio.err = pipe.write.get();
  const Result<pid_t> pid = spawn(command, stdio, options);
  REQUIRE_MESSAGE(pid.has_value(), (pid ? "" : pid.error().text));
  pipe.write.reset();
  Ran ran;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = ::read(pipe.read.get(), buffer.data(), buffer.size())) > 0;)
    ran.out.append(buffer.data(), static_cast<std::size_t>(count));
  ::waitpid(*pid, &ran.status, 0);
  return ran;
}

Command shell(const std::string& script) {
  return {{"sh", "-c", script}, default_env, ""};
}

}  // namespace

TEST_CASE("spawn: one line names what keeps a program from running") {
  const Folder folder;
  folder.file("plain.py", "print(1)\n", 0644);
  folder.file("text", "just text, no first line\n", 0755);
  folder.file("lost.py", "#!/no/such/python\n", 0755);
  const std::string at = folder.path;
  const Env long_env = {{"PATH", "/usr/bin:/bin"}, {"LONG", std::string(3u << 20, 'x')}};
  struct {
    const char* name;
    Command command;
    Errc code;
    std::string text;
  } const cases[] = {
      {"not on PATH",
       {{"no-such-mpirun"}, {{"PATH", "/usr/bin:/bin"}}, ""},
       Errc::not_found,
       "no-such-mpirun: not found on PATH /usr/bin:/bin"},
      {"no PATH at all",
       {{"no-such-mpirun"}, {}, ""},
       Errc::not_found,
       "no-such-mpirun: not found on PATH /usr/local/bin:/usr/bin:/bin"},
      {"no such file", {{at + "/none.py"}, {}, ""}, Errc::not_found, "/none.py: no such program"},
      {"below cwd", {{"./none.py"}, {}, at}, Errc::not_found, at + "/./none.py: no such program"},
      {"not executable",
       {{at + "/plain.py"}, {}, ""},
       Errc::denied,
       "/plain.py: not executable; run chmod +x on this file"},
      {"not executable, on PATH",
       {{"plain.py"}, {{"PATH", "/usr/bin:" + at}}, ""},
       Errc::denied,
       at + "/plain.py: not executable"},
      {"no first line",
       {{at + "/text"}, {}, ""},
       Errc::invalid_input,
       "/text: not a program: a script needs a first line such as #!/bin/sh"},
      {"interpreter missing",
       {{at + "/lost.py"}, {}, ""},
       Errc::not_found,
       "/lost.py: the interpreter named in its first line does not exist"},
      {"a folder", {{at}, {}, ""}, Errc::invalid_input, at + ": this is a folder, not a program"},
      {"no such folder to run in",
       {{"true"}, {{"PATH", "/usr/bin:/bin"}}, "/no/such/folder"},
       Errc::not_found,
       "cannot use /no/such/folder as the working folder: No such file or directory"},
      {"too long", {{"true"}, long_env, ""}, Errc::invalid_input, "too long for the kernel"},
      {"a NUL in an argument",
       {{"true", std::string("a\0b", 3)}, default_env, ""},
       Errc::invalid_input,
       "arguments and variables must not contain NUL characters"},
      {"a NUL in a variable",
       {{"true"}, {{"PATH", "/usr/bin:/bin"}, {"X", std::string("a\0b", 3)}}, ""},
       Errc::invalid_input,
       "arguments and variables must not contain NUL characters"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<pid_t> pid = spawn(c.command, {}, {});
    REQUIRE_FALSE(pid);
    CHECK(pid.error().code == c.code);
    CHECK_MESSAGE(pid.error().text.find(c.text) != std::string::npos, pid.error().text);
    CHECK(pid.error().text.find('\n') == std::string::npos);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // Children that failed are reaped.
}

TEST_CASE("spawn: a child has the descriptors 0, 1 and 2 only, whatever was left open here") {
  const Fd leaked(::open("/dev/null", O_RDONLY));  // As a launcher may leave one: no O_CLOEXEC.
  const Fd ours(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Ran ran = run(shell("exec ls /proc/self/fd"));
  CHECK(split_words(ran.out) == Args{"0", "1", "2", "3"});  // 3 is ls's own, of the folder.
}

TEST_CASE("spawn: extra descriptors get the numbers asked for, also swapped ones") {
  Pipe first = *make_pipe();
  Pipe second = *make_pipe();
  const int a = first.write.get();
  const int b = second.write.get();
  Stdio stdio;
  stdio.extra = {{a, b}, {b, a}};
  const std::string script =
      "echo one >&" + std::to_string(a) + "; echo two >&" + std::to_string(b);
  REQUIRE(b < 10);  // sh takes one digit only.
  const Ran ran = run(shell(script), stdio);
  CHECK(ran.out.empty());
  std::array<char, 16> buffer;
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(
                                       ::read(second.read.get(), buffer.data(), 16))) == "one\n");
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(
                                       ::read(first.read.get(), buffer.data(), 16))) == "two\n");
}

TEST_CASE("spawn: arguments and variables arrive byte for byte, and no shell sees them") {
  const Args words = {"",         "a b", "'\"",     ";id", "$(id)", "`id`", "line\n2", "\xc3\xa4",
                      "\xff\xfe", "-x",  "--a=b c", ":",   "*",     "a=b",  "\\"};
  Command command = {{"printf", "%s\\0"}, default_env, ""};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  std::string want;
  for (const std::string& word : words) want += word + '\0';
  CHECK(run(command).out == want);

  const Env odd = {{"PATH", "/usr/bin:/bin"}, {"A", ""}, {"B", "x=y\n\xff $(id)"}};
  want.clear();
  for (const auto& [name, value] : odd) want += name + "=" + value + '\0';
  CHECK(run({{"env", "-0"}, odd, ""}).out == want);
}

TEST_CASE("spawn: a program is found below the child's folder and runs there") {
  const Folder folder;
  folder.file("here", "#!/bin/sh\npwd\n", 0755);
  folder.file("name", "#!/bin/sh\nprintf %s $0\n", 0755);
  CHECK(run({{"./name"}, default_env, folder.path}).out == "./name");
  CHECK(run({{"./here"}, default_env, folder.path}).out == folder.path + "\n");
  CHECK(run({{"here"}, {{"PATH", ".:/bin"}}, folder.path}).out == folder.path + "\n");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path("/tmp");
  const std::string relative = folder.path.substr(5);  // Without "/tmp/".
  CHECK(run({{"./here"}, default_env, relative}).out == folder.path + "\n");
  CHECK(run({{relative + "/here"}, default_env, ""}).out == "/tmp\n");
  std::filesystem::current_path(before);
}

TEST_CASE("spawn: a child starts with default handlers and an empty mask, and ours are restored") {
  ::signal(SIGUSR1, SIG_IGN);
  const unsigned long ignore[4] = {1, 0, 0, 0};  // What some parents leave behind.
  REQUIRE(::syscall(SYS_rt_sigaction, 33, ignore, nullptr, 8) == 0);
  sigset_t blocked, before, now;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const Ran ran = run({{"cat", "/proc/self/status"}, default_env, ""});
  ::sigprocmask(SIG_SETMASK, &before, &now);
  ::signal(SIGUSR1, SIG_DFL);
  for (const char* set : {"SigBlk", "SigIgn", "SigCgt"})
    CHECK_MESSAGE(ran.out.find(std::string(set) + ":\t0000000000000000\n") != std::string::npos,
                  ran.out);
  CHECK(::sigismember(&now, SIGUSR2) == 1);
  CHECK(::sigismember(&now, SIGTERM) == 0);
}

TEST_CASE("spawn: a child that is to ignore SIGPIPE ignores nothing else") {
  const Ran ran =
      run({{"cat", "/proc/self/status"}, default_env, ""}, {}, {.ignore_sigpipe = true});
  CHECK_MESSAGE(ran.out.find("SigIgn:\t0000000000001000\n") != std::string::npos, ran.out);
}

TEST_CASE("spawn: a child can lead its own process group or session") {
  // Fields 5 and 6 of /proc/self/stat; cut's own pid is field 1.
  const Command command = {{"cut", "-d ", "-f1,5,6", "/proc/self/stat"}, default_env, ""};
  const Args shared = split_words(run(command).out);
  CHECK(shared[1] == std::to_string(::getpgrp()));
  const Args group = split_words(run(command, {}, {.own_group = true}).out);
  CHECK(group[1] == group[0]);
  CHECK(group[2] == std::to_string(::getsid(0)));
  const Args session = split_words(run(command, {}, {.own_session = true}).out);
  CHECK(session[1] == session[0]);
  CHECK(session[2] == session[0]);
}

TEST_CASE("spawn: a child with a death signal does not outlive its parent") {
  Pipe alive = *make_pipe();
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    Stdio stdio;
    stdio.out = alive.write.get();
    SpawnOptions options;
    options.death_signal = SIGKILL;
    const Result<pid_t> child = spawn(shell("echo; exec sleep 1000"), stdio, options);
    if (!child) ::_exit(1);
    alive.write.reset();
    ::pause();
  }
  alive.write.reset();
  char byte = 0;
  CHECK(::read(alive.read.get(), &byte, 1) == 1);  // The child runs.
  ::kill(parent, SIGKILL);
  CHECK(::read(alive.read.get(), &byte, 1) == 0);  // The child's end of the pipe has closed.
  ::waitpid(parent, nullptr, 0);
}

TEST_CASE(
    "find_program: the first match on PATH wins, and files that cannot be executed are skipped") {
  const Folder folder;
  for (const char* name : {"one", "two", "three"})
    std::filesystem::create_directory(folder.path + "/" + name);
  folder.file("one/tool", "", 0644);
  folder.file("two/tool", "", 0755);
  folder.file("three/tool", "", 0755);
  std::filesystem::create_directory(folder.path + "/one/folder");
  const Env env = {
      {"PATH", folder.path + "/one:" + folder.path + "/two:" + folder.path + "/three"}};
  CHECK(find_program("tool", env, "").value_or("") == folder.path + "/two/tool");
  const Result<std::string> found = find_program("folder", env, "");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::not_found);
}
