#include "os/supervise/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "base/process/data_limit.h"
#include "base/process/open_files.h"
#include "base/text.h"

namespace muster::supervise {
namespace {

enum class Step : int { chdir, descriptors, exec };
struct Failure {
  Step step;
  int number;
};

/// Everything a child needs, made before the fork: after it nothing may allocate.
struct Prepared {
  std::string program;
  std::vector<char*> argv;
  std::vector<std::string> env_text;
  std::vector<char*> envp;
  std::vector<std::pair<int, int>> fds;  ///< {theirs, ours}, sorted by theirs.
  int highest = 2;
};

char* raw(const std::string& text) {
  return const_cast<char*>(text.c_str());
}

Prepared prepared(const Command& command, const std::string& program, const Stdio& stdio) {
  Prepared result;
  // After the chdir a relative name holds as it was written, and a script sees it as its $0.
  const std::string& written = command.argv[0];
  const bool relative = written.find('/') != std::string::npos && !written.starts_with('/');
  result.program = relative ? written : program;
  for (const std::string& word : command.argv) result.argv.push_back(raw(word));
  result.argv.push_back(nullptr);
  for (const auto& [name, value] : command.env) result.env_text.push_back(name + "=" + value);
  for (const std::string& text : result.env_text) result.envp.push_back(raw(text));
  result.envp.push_back(nullptr);
  result.fds = {{0, stdio.in}, {1, stdio.out}, {2, stdio.err}};
  result.fds.insert(result.fds.end(), stdio.extra.begin(), stdio.extra.end());
  std::sort(result.fds.begin(), result.fds.end());
  for (const auto& [theirs, ours] : result.fds)
    result.highest = std::max({result.highest, theirs, ours});
  return result;
}

[[noreturn]] void give_up(int report, Step step) {
  const Failure failure{step, errno};
  static_cast<void>(!::write(report, &failure, sizeof(failure)));
  ::_exit(127);
}

/// By the kernel's own call: the C library's leaves out signals 32 and 33, which are its own, and
/// which some parents leave ignored.
void reset_signals() {
  struct {
    void* handler;  // Null is SIG_DFL.
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } const standard{};
  for (int signal = 1; signal <= 64; ++signal)
    ::syscall(SYS_rt_sigaction, signal, &standard, nullptr, sizeof(standard.mask));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Moves the descriptors to their numbers by way of free ones above all of them.
bool place_descriptors(Prepared& child) {
  for (auto& [theirs, ours] : child.fds) {
    ours = ::fcntl(ours, F_DUPFD_CLOEXEC, child.highest + 1);
    if (ours < 0) return false;
  }
  for (const auto& [theirs, ours] : child.fds)
    if (::dup2(ours, theirs) < 0) return false;
  return true;
}

/// Everything beyond 0, 1, 2 that our caller left open closes at exec. Kernels before 5.11 refuse:
/// there, only our own descriptors close (they are close-on-exec from birth).
void keep_nothing_open() {
#ifdef CLOSE_RANGE_CLOEXEC
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
#endif
}

/// Closes what exec would close, but now: until it has read the program, somebody who starts our
/// parent again would find its port and its locks taken.
void close_early(int highest, int report) {
#ifdef CLOSE_RANGE_CLOEXEC
  const auto last = static_cast<unsigned>(report);
  ::close_range(static_cast<unsigned>(highest) + 1, last - 1, 0);
  ::close_range(last + 1, ~0U, 0);
#endif
}

[[noreturn]] void become(Prepared& child, const Command& command, const SpawnOptions& options,
                         int report, pid_t parent) {
  if (options.own_session) ::setsid();
  if (options.own_group && !options.own_session) ::setpgid(0, 0);
  if (options.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (::getppid() != parent) ::_exit(127);  // The parent ended before we asked for its signal.
  }
  reset_signals();
  if (options.ignore_sigpipe) ::signal(SIGPIPE, SIG_IGN);
  const int moved = ::fcntl(report, F_DUPFD_CLOEXEC, child.highest + 1);
  if (moved >= 0) report = moved;
  if (!command.cwd.empty() && ::chdir(command.cwd.c_str()) != 0) give_up(report, Step::chdir);
  keep_nothing_open();
  if (!place_descriptors(child)) give_up(report, Step::descriptors);
  if (moved >= 0) close_early(child.highest, report);
  restore_data_limit();
  restore_open_files();  // Behind all that needs descriptors beyond the child's own limit.
  ::execve(child.program.c_str(), child.argv.data(), child.envp.data());
  give_up(report, Step::exec);
}

Error explained(const Failure& failure, const Command& command, const std::string& program) {
  errno = failure.number;
  if (failure.step == Step::chdir)
    return fail_errno("cannot use " + command.cwd + " as the working folder");
  if (failure.step == Step::descriptors)
    return fail_errno("cannot pass file descriptors to " + program);
  if (failure.number == ENOEXEC)
    return fail(Errc::invalid_input,
                program + ": not a program: a script needs a first line such as #!/bin/sh");
  if (failure.number == ENOENT)
    return fail(Errc::not_found,
                program + ": the interpreter named in its first line does not exist");
  if (failure.number == EACCES)
    return fail(Errc::denied, program +
                                  ": permission denied: its interpreter cannot be executed, or its "
                                  "file system is mounted noexec");
  if (failure.number == E2BIG)
    return fail(Errc::invalid_input,
                program + ": the arguments and the environment are too long for the kernel");
  return fail_errno(program);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// `path` as the child will see it, whose folder is `cwd`.
std::string below(const std::string& cwd, const std::string& path) {
  return path.starts_with('/') || cwd.empty() ? path : cwd + "/" + path;
}

Error missing(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0)
    return fail(
        Errc::invalid_input,
        path + (S_ISDIR(info.st_mode) ? ": this is a folder, not a program" : ": not a program"));
  if (errno == EACCES) return fail_errno(path);
  return fail(Errc::not_found, path + ": no such program");
}

/// The kernel would see only the part before a NUL.
bool has_nul(const Command& command) {
  const auto holds = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  bool found = holds(command.cwd);
  for (const std::string& word : command.argv) found = found || holds(word);
  for (const auto& [name, value] : command.env) found = found || holds(name) || holds(value);
  return found;
}

/// A signal that reached the child before it has its own handlers would run ours in it, and those
/// write to pipes that we share: none is let through meanwhile.
pid_t fork_unsignaled() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  const int number = errno;
  if (pid != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return pid;
}

}  // namespace

Result<std::string> find_program(const std::string& name, const Env& env, const std::string& cwd) {
  const auto denied = [](const std::string& path) {
    return fail(Errc::denied, path + ": not executable; run chmod +x on this file");
  };
  if (name.find('/') != std::string::npos) {
    const std::string path = below(cwd, name);
    if (!is_file(path)) return missing(path);
    if (::access(path.c_str(), X_OK) != 0) return denied(path);
    return path;
  }
  const Env::const_iterator found = env.find("PATH");
  const std::string search = found == env.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
  std::string refused;
  for (const std::string& folder : split(search, ':')) {
    const std::string path = below(cwd, (folder.empty() ? "." : folder) + "/" + name);
    if (!is_file(path)) continue;
    if (::access(path.c_str(), X_OK) == 0) return path;
    refused = path;
  }
  if (!refused.empty()) return denied(refused);
  return fail(Errc::not_found, name + ": not found on PATH " + search);
}

Result<pid_t> spawn(const Command& command, const Stdio& stdio, const SpawnOptions& options) {
  CHECK_THAT(!command.argv.empty(), "a command has a program");
  if (has_nul(command))
    return fail(Errc::invalid_input, "arguments and variables must not contain NUL characters");
  const std::string program = TRY(find_program(command.argv[0], command.env, command.cwd));
  std::error_code no_folder;
  const std::filesystem::path absolute = std::filesystem::absolute(program, no_folder);
  Prepared child = prepared(command, no_folder ? program : absolute.string(), stdio);
  Pipe report = TRY(make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = fork_unsignaled();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) become(child, command, options, report.write.get(), parent);
  report.write.reset();
  Failure failure{};
  ssize_t count = 0;
  do {
    count = ::read(report.read.get(), &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count == 0) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return explained(failure, command, program);
}

Error replace_self(const Command& command, const Stdio& stdio) {
  if (command.argv.empty() || has_nul(command))
    return fail(Errc::invalid_input,
                "cannot start a command that is empty or contains a NUL character");
  Result<std::string> program = find_program(command.argv[0], command.env, command.cwd);
  if (!program) return program.error();
  Prepared self = prepared(command, *program, stdio);
  if (!command.cwd.empty() && ::chdir(command.cwd.c_str()) != 0)
    return explained({Step::chdir, errno}, command, *program);
  reset_signals();
  keep_nothing_open();
  if (!place_descriptors(self)) return explained({Step::descriptors, errno}, command, *program);
  restore_data_limit();
  ::execve(self.program.c_str(), self.argv.data(), self.envp.data());
  return explained({Step::exec, errno}, command, *program);
}

}  // namespace muster::supervise
