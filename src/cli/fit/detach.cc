#include "cli/fit/detach.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/terminal.h"
#include "cli/exit_code_of.h"
#include "cli/view/job_view.h"

namespace muster::cli {
namespace {

/// What the pipe's writer said before it was gone.
std::string read_all(const Fd& from) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

int exit_code_of_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return exit_platform;
  return WIFEXITED(status) ? WEXITSTATUS(status) : exit_signal_base + WTERMSIG(status);
}

/// Nothing of who called us is held by a process that may go on for days.
void drop_inherited(int kept) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  if (kept > STDERR_FILENO + 1)
    ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

}  // namespace

Result<Forked> Detachment::fork() {
  Pipe pipe = TRY(make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  Forked forked;
  if (pid == 0) {
    // A signal that ends the command before the job exists is meant for the job.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(exit_platform);
    pipe.read.reset();
    drop_inherited(pipe.write.get());
    forked.child = Detachment(std::move(pipe.write));
    return forked;
  }
  // Ctrl-C reaches the child, too, and the child reports its own end.
  ::signal(SIGINT, SIG_IGN);
  pipe.write.reset();
  const std::string said = read_all(pipe.read);
  const Result<Json> told = parse_json(said);
  if (told && told->is_object())
    forked.told = *told;
  else
    forked.exit_code = exit_code_of_child(pid);
  return forked;
}

Result<void> Detachment::leave(const std::string& log_file, const Json& word) {
  const Fd log(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return fail_errno("cannot create " + log_file);
  if (::setsid() < 0) return fail_errno("cannot start a session");
  if (::chdir("/") != 0) return fail_errno("cannot enter /");
  ::prctl(PR_SET_PDEATHSIG, 0);
  TRY(write_all(parent_.get(), to_text(word)));
  if (::dup2(log.get(), STDERR_FILENO) < 0) return fail_errno("cannot write to " + log_file);
  parent_.reset();
  return {};
}

int tell_detached(const Forked& forked, bool json) {
  if (!forked.told) return forked.exit_code;
  const std::string job = visible_line(member_text(*forked.told, "job"));
  if (json) {
    const std::string object = visible_json(to_text(*forked.told)) + "\n";
    return write_all(STDOUT_FILENO, object) ? exit_success : exit_platform;
  }
  const std::string next = "It runs on this machine. Its results and its log will be in " +
                           visible_line(member_text(*forked.told, "output")) + "\n  sm logs -f " +
                           job + "\n  sm stop " + job + "\n  sm describe " + job + "\n";
  if (!write_all(STDOUT_FILENO, job + "\n")) return exit_platform;
  static_cast<void>(write_all(STDERR_FILENO, next));
  return exit_success;
}

}  // namespace muster::cli
