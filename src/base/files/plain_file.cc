#include "base/files/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace muster {
namespace {

Result<Fd> open_plain(const std::string& path) {
  const Fd held(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!held || ::fstat(held.get(), &status) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::denied, path + ": expected a regular file");
  Fd file(::open(("/proc/self/fd/" + std::to_string(held.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + path);
  return file;
}

}  // namespace

Result<std::string> read_head(const std::string& path, std::size_t bytes_max) {
  const Fd file = TRY(open_plain(path));
  std::string head;
  TRY(read_pieces(file.get(), path, 0, bytes_max, [&head](std::string_view piece) {
    head = piece;
    return false;
  }));
  return head;
}

}  // namespace muster
