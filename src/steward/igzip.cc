#include "steward/igzip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "supervise/spawn.h"

namespace muster::steward {
namespace {

/// From memory to memory, so that nobody waits for a pipe.
Result<objects::Blob> by_igzip(const std::string& program, const objects::PackBuffer& buffer) {
  const int in = TRY(buffer.file());
  objects::Blob out = TRY(objects::make_blob());
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null) return fail_errno("/dev/null");
  const Command command{.argv = {program, "-1", "-c"}, .env = {}, .cwd = "/"};
  const supervise::Stdio stdio{in, out.fd.get(), null.get(), {}};
  const pid_t pid = TRY(supervise::spawn(command, stdio, {}));
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0)
    if (errno != EINTR) return fail_errno("waitid");
  struct stat status {};
  const bool well = info.si_code == CLD_EXITED && info.si_status == 0;
  if (!well || ::fstat(out.fd.get(), &status) != 0 || status.st_size < 18)
    return fail(Errc::system, program + " failed");
  out.bytes = static_cast<std::uint64_t>(status.st_size);
  return out;
}

}  // namespace

objects::Gzip find_gzip(const Env& env) {
  const Result<std::string> program = supervise::find_program("igzip", env, "/");
  if (!program) return objects::gzip_members;
  return [path = *program](const objects::PackBuffer& buffer) -> Result<objects::Blob> {
    Result<objects::Blob> packed = by_igzip(path, buffer);
    if (packed) return packed;
    return objects::gzip_members(buffer);
  };
}

}  // namespace muster::steward
