#include "server/front/kept_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "base/fd.h"
#include "base/files/copy_bytes.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::server {
namespace {

using Identity = std::pair<dev_t, ino_t>;

constexpr std::size_t piece_bytes = 1u << 20;
constexpr unsigned program_mode = 0755;

Identity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

std::size_t read_piece(const Fd& fd, std::string& piece, off_t offset) {
  std::size_t filled = 0;
  while (filled < piece.size()) {
    const ssize_t got = ::pread(fd.get(), piece.data() + filled, piece.size() - filled,
                                offset + static_cast<off_t>(filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

/// False also if one of them cannot be read. An incomplete copy of a killed server differs.
bool have_same_bytes(const std::string& one, const std::string& other) {
  const Fd first(::open(one.c_str(), O_RDONLY | O_CLOEXEC));
  const Fd second(::open(other.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {
  }, other_status{};
  if (!first || !second || ::fstat(first.get(), &status) != 0 ||
      ::fstat(second.get(), &other_status) != 0 || status.st_size != other_status.st_size)
    return false;
  if (identity_of(status) == identity_of(other_status)) return true;
  std::string piece(piece_bytes, '\0'), other_piece(piece_bytes, '\0');
  for (off_t at = 0; at < status.st_size; at += static_cast<off_t>(piece_bytes)) {
    const std::size_t size = read_piece(first, piece, at);
    if (size == 0 || size != read_piece(second, other_piece, at)) return false;
    if (piece.compare(0, size, other_piece, 0, size) != 0) return false;
  }
  return true;
}

/// The programs of all processes that this one can examine: at least those of its own user.
std::set<Identity> running_programs() {
  std::set<Identity> running;
  for (const std::string& name : names_in("/proc").value_or({})) {
    struct stat status {};
    if (name[0] >= '0' && name[0] <= '9' &&
        ::stat(("/proc/" + name + "/exe").c_str(), &status) == 0)
      running.insert(identity_of(status));
  }
  return running;
}

Result<std::string> make_place(const std::string& folder, const std::string& program) {
  const std::string path = TRY(make_private_folder(folder, "")) + "/sm";
  if (::linkat(AT_FDCWD, program.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return path;
  const Fd from(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return fail_errno("cannot open " + program);
  const Fd to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, program_mode));
  if (!to) return fail_errno("cannot create " + path);
  TRY(copy_bytes(from.get(), to.get(), path));
  if (::fchmod(to.get(), program_mode) != 0) return fail_errno("cannot change the mode of " + path);
  return path;
}

}  // namespace

std::string kept_program(const std::string& folder, const std::string& program) {
  if (!make_folders(folder, 0700)) return program;
  std::string kept;
  const std::set<Identity> running = running_programs();
  for (const std::string& name : names_in(folder).value_or({})) {
    const std::string place = folder + "/" + name;
    const std::string path = place + "/sm";
    struct stat status {};
    const bool is_there = ::lstat(path.c_str(), &status) == 0;
    if (is_there && kept.empty() && have_same_bytes(program, path)) {
      kept = path;
      continue;
    }
    if (!is_there || !running.contains(identity_of(status))) static_cast<void>(remove_tree(place));
  }
  return kept.empty() ? make_place(folder, program).value_or(program) : kept;
}

}  // namespace muster::server
