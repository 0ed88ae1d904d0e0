#include "base/files/copy_bytes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr off_t kernel_bytes = 64 << 20;
constexpr off_t chunk_bytes = 1 << 20;
constexpr std::size_t attribute_bytes_max = 64u << 10;  // The kernel's own limit.

bool is_of_the_disk(int number) {
  return number == ENOSPC || number == EDQUOT || number == EFBIG || number == EIO;
}

Result<void> write_at(int to, std::string_view bytes, off_t at, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(to, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
  return {};
}

/// Copies what is there between `at` and `end`; returns where it ended. `to_kernel` turns false
/// where the kernel cannot.
Result<off_t> copy_range(int from, int to, off_t at, off_t end, bool& to_kernel,
                         const std::string& path) {
  std::string chunk;
  while (at < end) {
    ssize_t got = -1;
    if (to_kernel) {
      off_t read_at = at, write_from = at;
      const auto most = static_cast<std::size_t>(std::min(kernel_bytes, end - at));
      got = ::copy_file_range(from, &read_at, to, &write_from, most, 0);
      if (got < 0 && is_of_the_disk(errno)) return fail_errno("cannot copy " + path);
      to_kernel = got > 0 || (got < 0 && errno == EINTR);
    } else {
      chunk.resize(static_cast<std::size_t>(std::min(chunk_bytes, end - at)));
      got = ::pread(from, chunk.data(), chunk.size(), at);
      if (got < 0 && errno != EINTR) return fail_errno("cannot copy " + path);
      if (got == 0) break;
      if (got > 0) TRY(write_at(to, {chunk.data(), static_cast<std::size_t>(got)}, at, path));
    }
    at += std::max<ssize_t>(got, 0);
  }
  return at;
}

}  // namespace

Result<void> copy_bytes(int from, int to, const std::string& path) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  constexpr off_t no_end = std::numeric_limits<off_t>::max();
  bool to_kernel = true;
  off_t at = 0;
  while (true) {
    const off_t begin = ::lseek(from, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // A hole up to the end, or the end.
    const off_t end = begin < 0 ? -1 : ::lseek(from, begin, SEEK_HOLE);
    const bool is_known = end > begin;  // Else the file system knows of no holes.
    const off_t want = is_known ? end : no_end;
    at = TRY(copy_range(from, to, is_known ? begin : at, want, to_kernel, path));
    if (at < want) return {};
  }
  const off_t length = ::lseek(from, 0, SEEK_END);
  if (length > at && ::ftruncate(to, length) != 0) return fail_errno("cannot resize " + path);
  return {};
}

void copy_user_attributes(int from, int to) {
  std::string names(attribute_bytes_max, '\0');
  const ssize_t length = ::flistxattr(from, names.data(), names.size());
  if (length <= 0) return;
  names.resize(static_cast<std::size_t>(length));
  std::string value(attribute_bytes_max, '\0');
  for (const std::string& name : split(names, '\0')) {
    if (!name.starts_with("user.")) continue;
    const ssize_t count = ::fgetxattr(from, name.c_str(), value.data(), value.size());
    if (count >= 0) ::fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(count), 0);
  }
}

}  // namespace muster
