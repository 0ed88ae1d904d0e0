#include "base/process/cover_folder.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/files/folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t entries_max = 4096;  ///< A mount each; the kernel has 100,000 of them.

/// What is in `from` at the same place of the new folder.
void show_again(const Fd& from, const std::string& folder, const std::string& name) {
  const std::string source = "/proc/self/fd/" + std::to_string(from.get()) + "/" + name;
  const std::string target = folder + "/" + name;
  struct stat info {};
  std::error_code code;
  if (::lstat(source.c_str(), &info) != 0) return;
  if (S_ISLNK(info.st_mode)) {
    fs::copy_symlink(source, target, code);
    return;
  }
  if (S_ISDIR(info.st_mode))
    fs::create_directory(target, code);
  else
    static_cast<void>(write_file(target, ""));
  static_cast<void>(::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr));
}

}  // namespace

Result<void> cover_folder(const std::string& folder, const std::vector<std::string>& hidden) {
  const Fd before(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!before) return fail_errno("cannot open " + folder);
  const std::vector<std::string> names = TRY(names_in(before.get(), folder));
  if (names.size() > entries_max)
    return fail(
        Errc::invalid_input,
        folder + " has more than 4096 entries, so muster cannot replace this folder in the host");
  if (::mount("muster", folder.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, "mode=755") != 0)
    return fail_errno("cannot mount over " + folder);
  for (const std::string& name : names)
    if (std::find(hidden.begin(), hidden.end(), name) == hidden.end())
      show_again(before, folder, name);
  return {};
}

}  // namespace muster
