#include "base/files/copy_bytes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/fd.h"

namespace muster {
namespace {

constexpr std::size_t kernel_bytes = 64u << 20;
constexpr std::size_t chunk_bytes = 1u << 20;

}  // namespace

Result<void> copy_bytes(int from, int to, const std::string& path) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  while (true) {
    const ssize_t got = ::copy_file_range(from, nullptr, to, nullptr, kernel_bytes, 0);
    if (got == 0) break;  // The end, or a file system that cannot: the loop below finds out.
    if (got > 0 || errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO)
      return fail_errno(path);
    break;
  }
  std::string chunk(chunk_bytes, '\0');
  while (true) {
    const ssize_t got = ::read(from, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(path);
    if (got == 0) return {};
    const Result<void> written =
        write_all(to, std::string_view(chunk.data(), static_cast<std::size_t>(got)));
    if (!written) return written.error().in(path);
  }
}

}  // namespace muster
