#include "base/files/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files/given_path.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t private_bytes_max = 4096;
constexpr mode_t others_mask = 077;
constexpr std::size_t guarded_bytes_max = 64u << 10;
constexpr mode_t others_write = 022;

}  // namespace

Result<std::string> read_private(const std::string& path) {
  const Fd file = TRY(open_given_file(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot read " + path);
  if ((status.st_mode & others_mask) != 0)
    return fail(Errc::denied, path + ": other users can read it; expected mode 0600");
  std::string text(private_bytes_max + 1, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  if (count < 0) return fail_errno("cannot read " + path);
  if (static_cast<std::size_t>(count) > private_bytes_max)
    return fail(Errc::invalid_input, path + ": the file is too long to be a secret");
  text.resize(static_cast<std::size_t>(count));
  return trim(text);
}

Result<std::string> read_guarded(const std::string& path) {
  const Fd file = TRY(open_given_file(path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot read " + path);
  const bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (!ours || (status.st_mode & others_write) != 0)
    return fail(
        Errc::denied,
        path + ": other users can change it; expected a file owned by root, mode 0644 or 0600");
  return read_file("/proc/self/fd/" + std::to_string(file.get()), guarded_bytes_max);
}

}  // namespace muster
