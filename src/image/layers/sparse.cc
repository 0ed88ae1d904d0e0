#include "image/layers/sparse.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace muster::image {
namespace {

constexpr std::size_t buffer_bytes = 64u << 10;

bool is_zero(const char* bytes, std::size_t count) {
  return bytes[0] == '\0' && std::memcmp(bytes, bytes + 1, count - 1) == 0;
}

Result<void> write_at(int file, const char* bytes, std::size_t count, off_t at) {
  while (count > 0) {
    const ssize_t put = ::pwrite(file, bytes, count, at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno("cannot write");
    bytes += put;
    at += put;
    count -= static_cast<std::size_t>(put);
  }
  return {};
}

Result<void> copy_range(int from, SparseWriter& to, off_t at, off_t end, Meter& meter) {
  std::array<char, buffer_bytes> buffer;
  while (at < end) {
    const auto count =
        static_cast<std::size_t>(std::min<off_t>(static_cast<off_t>(buffer.size()), end - at));
    const ssize_t got = ::pread(from, buffer.data(), count, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read");
    if (got == 0) return {};
    TRY(to.write(buffer.data(), static_cast<std::size_t>(got), at));
    TRY(meter.look());
    at += got;
  }
  return {};
}

}  // namespace

/// Whole blocks count, since that is what a file takes; the one where two runs meet counts once.
Result<void> SparseWriter::write_run(const char* bytes, std::size_t count, off_t at) {
  constexpr auto block = static_cast<off_t>(block_bytes);
  const off_t first = at / block * block;
  const off_t begin = at < end_ ? first : std::max(first, counted_);
  end_ = at + static_cast<off_t>(count);
  counted_ = (end_ + block - 1) / block * block;
  if (counted_ > begin) TRY(budget_.write(static_cast<std::uint64_t>(counted_ - begin)));
  return write_at(file_, bytes, count, at);
}

Result<void> SparseWriter::write(const char* bytes, std::size_t count, off_t at) {
  while (count > 0) {
    std::size_t run = std::min(count, block_bytes - static_cast<std::size_t>(at) % block_bytes);
    const bool hole = is_zero(bytes, run);
    while (!hole && run < count) {
      const std::size_t more = std::min(count - run, block_bytes);
      if (is_zero(bytes + run, more)) break;
      run += more;
    }
    if (!hole) TRY(write_run(bytes, run, at));
    bytes += run;
    at += static_cast<off_t>(run);
    count -= run;
  }
  return {};
}

Result<void> copy_sparse(int from, int to, Budget& budget, Meter& meter) {
  struct stat status {};
  if (::fstat(from, &status) != 0) return fail_errno("cannot read");
  SparseWriter writer(to, budget);
  off_t at = 0;
  while (at < status.st_size) {
    const off_t begin = ::lseek(from, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // Nothing but a hole is left.
    const off_t end = begin < 0 ? status.st_size : ::lseek(from, begin, SEEK_HOLE);
    if ((begin < 0 && errno != EINVAL) || end < 0) return fail_errno("cannot read");
    TRY(copy_range(from, writer, std::max(begin, at), end, meter));
    at = end;
  }
  if (::ftruncate(to, status.st_size) != 0) return fail_errno("cannot write");
  return {};
}

}  // namespace muster::image
