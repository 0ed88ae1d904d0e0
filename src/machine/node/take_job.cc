#include "machine/node/take_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace muster::node {
namespace {

constexpr mode_t others_mask = 077;

}  // namespace

Result<job::NodeJob> take_job(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return fail_errno("cannot open " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::denied, path + ": expected a regular file");
  if (status.st_uid != ::geteuid() || (status.st_mode & others_mask) != 0)
    return fail(Errc::denied,
                path + ": expected a file that only this user can access (mode 0600)");
  const Result<std::string> text =
      read_file("/proc/self/fd/" + std::to_string(file.get()), job::node_job_bytes_max);
  if (::unlink(path.c_str()) != 0) return fail_errno("cannot remove " + path);
  if (!text) return fail(text.error().code, path + ": larger than 16 MiB, or unreadable");
  Result<job::NodeJob> job = job::node_job_from(*text);
  if (!job) return job.error().in(path);
  return job;
}

}  // namespace muster::node
