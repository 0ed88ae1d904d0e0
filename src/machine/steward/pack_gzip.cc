#include "machine/steward/pack_gzip.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

constexpr std::size_t gzip_bytes_min = 18;

/// Packs from memory to memory, without waiting for a pipe.
Result<void> by_igzip(const std::string& program, s3client::PackBuffer& bytes,
                      s3client::PackBuffer& packed) {
  const int in = TRY(bytes.file());
  const int out = TRY(packed.begin());
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null");
  const Command command{.argv = {program, "-1", "-c"}, .env = {}, .cwd = "/"};
  const pid_t pid = TRY(supervise::spawn(command, {in, out, null.get(), {}}, {}));
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0)
    if (errno != EINTR) return fail_errno("cannot wait for the program");
  TRY(packed.taken());
  const bool well = info.si_code == CLD_EXITED && info.si_status == 0;
  if (!well || packed.view().size() < gzip_bytes_min)
    return fail(Errc::system, program + " did not return gzip data");
  return {};
}

}  // namespace

s3client::Gzip find_gzip(const Env& env) {
  const Result<std::string> program = supervise::find_program("igzip", env, "/");
  if (!program) return s3client::gzip_members;
  return [path = *program](s3client::PackBuffer& bytes, s3client::PackBuffer& packed) {
    if (!s3client::is_dense(bytes.view()) && by_igzip(path, bytes, packed)) return Result<void>();
    return s3client::gzip_members(bytes, packed);
  };
}

}  // namespace muster::steward
