#include "image/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace muster::image {

Result<Fd> open_plain(const std::string& path) {
  const Fd held(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!held || ::fstat(held.get(), &status) != 0) return fail_errno(path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::protocol, path + " is no file");
  Fd file(::open(("/proc/self/fd/" + std::to_string(held.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(path);
  return file;
}

}  // namespace muster::image
