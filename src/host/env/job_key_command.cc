#include "host/env/job_key_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "host/env/job_key.h"

namespace muster::env {
namespace {

/// A shell creates the file of `>FILE` according to its umask, usually readable by all users.
Result<void> keep_from_others(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return fail(Errc::system, errno_text("cannot use standard output"));
  if (!S_ISREG(file.st_mode) || (file.st_mode & 077) == 0) return {};
  if (::fchmod(fd, 0600) == 0) return {};
  return fail(Errc::system, errno_text("cannot make the output file private"));
}

}  // namespace

int print_job_key(const Args& args) {
  command::Line line(command::page_of("key job"));
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<void> own = keep_from_others(STDOUT_FILENO);
  if (!own) {
    static_cast<void>(say_error(STDERR_FILENO, "sm key", own.error().text));
    return command::exit_platform;
  }
  const std::string key = hex(random_bytes(job_key_bytes));
  return say(STDOUT_FILENO, key + "\n") ? command::exit_success : command::exit_platform;
}

}  // namespace muster::env
