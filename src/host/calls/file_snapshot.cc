#include "host/calls/file_snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "net/loop/wait.h"

namespace muster::calls {
namespace {

constexpr std::uint64_t piece_bytes = 8u << 20;

Stamp stamp_from(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// Copies up to `bytes` at both files' current positions; returns 0 at the end.
Result<std::uint64_t> copy_piece(int from, int to, std::uint64_t bytes) {
  const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, bytes, 0);
  if (count >= 0) return static_cast<std::uint64_t>(count);
  // Two file systems, or one without this feature: copy with read and write.
  std::string piece(std::min<std::uint64_t>(bytes, 1u << 20), '\0');
  ssize_t got = 0;
  do got = ::read(from, piece.data(), piece.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno("cannot read the file");
  const Result<void> written = write_all(to, {piece.data(), static_cast<std::size_t>(got)});
  if (!written) return written.error();
  return static_cast<std::uint64_t>(got);
}

}  // namespace

std::optional<Stamp> stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return stamp_from(status);
}

loop::Task<Result<Stamp>> snapshot(loop::Loop& loop, std::string from, std::string to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!source) co_return fail_errno("cannot open " + from);
  struct stat status {};
  if (::fstat(source.get(), &status) != 0) co_return fail_errno("cannot open " + from);
  if (!S_ISREG(status.st_mode)) co_return fail(Errc::invalid_input, from + ": not a regular file");
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) co_return fail_errno("cannot create " + to);
  const Stamp stamp = stamp_from(status);
  if (::ioctl(target.get(), FICLONE, source.get()) == 0) co_return stamp;
  loop::Timer turn(loop);
  for (std::uint64_t left = stamp.bytes; left > 0;) {
    const Result<std::uint64_t> count =
        copy_piece(source.get(), target.get(), std::min(left, piece_bytes));
    if (!count) {
      ::unlink(to.c_str());
      co_return count.error().in(from);
    }
    if (*count == 0) break;
    left -= *count;
    co_await turn.after(Duration(0));
  }
  co_return stamp;
}

std::vector<FolderEntry> entries_of(const std::string& folder) {
  std::vector<FolderEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return entries;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      struct stat status {};
      const int got = ::fstatat(::dirfd(open.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
      is_folder = got == 0 && S_ISDIR(status.st_mode);
    }
    entries.push_back({name, is_folder});
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace muster::calls
