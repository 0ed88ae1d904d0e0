#include "host/operators/mpi_version.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/time.h"
#include "job/launch/mpi_flavour.h"
#include "os/supervise/spawn.h"

namespace muster::operators {
namespace {

constexpr Duration patience =
    std::chrono::seconds(10);  // Usually 0.02 s; longer if the file is not cached.
constexpr std::size_t bytes_max = 64 * 1024;

/// Ends `mpirun --version` and its children when it leaves scope.
class Asked {
 public:
  explicit Asked(pid_t pid) : pid_(pid) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  pid_t pid_;
};

/// Reads until all writers have closed, up to `bytes_max`.
Result<std::string> read_answer(const Fd& from, TimePoint deadline) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < bytes_max) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd fd{from.get(), POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&fd, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("mpirun --version: cannot wait for its output");
    if (ready == 0) return fail(Errc::timeout, "mpirun --version did not respond within 10 s");
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("mpirun --version: cannot read its output");
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

Result<launch::MpiFlavour> mpi_version(const Env& env) {
  const Command command{{"mpirun", "--version"}, launch::launcher_environment(env), ""};
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return fail_errno("cannot open /dev/null");
  Pipe pipe = TRY(make_pipe());
  supervise::SpawnOptions options;
  options.own_group = true;
  const pid_t pid = TRY(
      supervise::spawn(command, {nothing.get(), pipe.write.get(), pipe.write.get(), {}}, options));
  const Asked asked(pid);
  pipe.write.reset();
  const std::string text = TRY(read_answer(pipe.read, Clock::now() + patience));
  return launch::mpi_flavour_from(text);
}

Result<launch::MpiFlavour> mpi_version_of_member(const Env& env) {
  const Result<std::string> program = supervise::find_program("mpirun", env, "");
  std::error_code code;
  if (program && std::filesystem::canonical(*program, code).filename() == "orterun")
    return launch::MpiFlavour{launch::MpiFlavour::Kind::open_mpi, 4};
  return mpi_version(env);
}

}  // namespace muster::operators
