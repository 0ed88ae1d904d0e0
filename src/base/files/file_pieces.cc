#include "base/files/file_pieces.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace muster {
namespace {

constexpr std::size_t piece_bytes = 1u << 20;

}  // namespace

Result<void> read_file_pieces(const std::string& path,
                              const std::function<bool(std::string_view piece)>& take,
                              std::uint64_t bytes_max) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_errno("cannot open " + path);
  return read_pieces(file.get(), path, 0, piece_bytes, [&](std::string_view piece) {
    bytes_max -= std::min<std::uint64_t>(bytes_max, piece.size());
    return take(piece) && bytes_max > 0;
  });
}

}  // namespace muster
