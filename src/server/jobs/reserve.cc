#include "server/jobs/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

namespace muster::jobs {
namespace {

constexpr off_t reserve_bytes = 1 << 20;  // SQLite's log grows by pages: a job's end takes few.

}  // namespace

void Reserve::take() const {
  const Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return;
  if (::posix_fallocate(file.get(), 0, reserve_bytes) != 0) ::unlink(path_.c_str());
}

bool Reserve::give() const {
  return ::unlink(path_.c_str()) == 0;
}

}  // namespace muster::jobs
