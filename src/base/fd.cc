#include "base/fd.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace muster {

void Fd::reset() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot create a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<std::pair<Fd, Fd>> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("cannot create a socket pair");
  return std::pair<Fd, Fd>{Fd(ends[0]), Fd(ends[1])};
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path);
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read " + path);
    if (text.size() + static_cast<std::size_t>(count) > bytes_max)
      return fail(Errc::invalid_input,
                  path + ": exceeds the limit of " + std::to_string(bytes_max) + " bytes");
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Result<void> read_pieces(int fd, const std::string& path, std::uint64_t offset,
                         std::size_t piece_bytes,
                         const std::function<bool(std::string_view)>& take) {
  std::string buffer(piece_bytes, '\0');
  while (true) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read " + path);
    const auto bytes = static_cast<std::size_t>(count);
    if (bytes == 0 || !take(std::string_view(buffer.data(), bytes))) return {};
    offset += bytes;
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text, unsigned mode) {
  const std::string partial = path + ".partial-" + hex(random_bytes(4));
  Fd fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return fail_errno("cannot create " + path);
  Result<void> written = write_all(fd.get(), text);
  if (written && ::rename(partial.c_str(), path.c_str()) != 0)
    written = fail_errno("cannot rename the partial file");
  if (written) return {};
  ::unlink(partial.c_str());
  return written.error().in(path);
}

Result<void> make_folders(const std::string& path, unsigned mode) {
  // Most often all but the last are there.
  const bool short_way = ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST;
  for (std::size_t at = path.find('/', 1); !short_way; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST)
      return fail_errno("cannot create folder " + folder);
    if (at == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail_errno("cannot open " + path);
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid_input, path + ": not a folder");
  return {};
}

Result<std::string> make_private_folder(const std::string& parent, const std::string& prefix) {
  std::string path = parent + "/" + prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("cannot create folder " + path);
  return path;
}

Result<Fd> wait_for_lock(const std::string& path, bool exclusive) {
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("cannot open " + path);
  while (::flock(lock.get(), exclusive ? LOCK_EX : LOCK_SH) != 0)
    if (errno != EINTR) return fail_errno("cannot lock " + path);
  return lock;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    CHECK_THAT(got > 0, "getrandom failed");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

Result<std::string> own_program() {
  std::error_code code;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return fail(Errc::system, "cannot read /proc/self/exe: " + code.message());
  return path.string();
}

Result<std::string> working_folder() {
  std::error_code code;
  std::filesystem::path path = std::filesystem::current_path(code);
  if (code) return fail(Errc::system, "cannot determine the current folder: " + code.message());
  return path.string();
}

}  // namespace muster
