#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace muster {
namespace {

Result<std::vector<std::string>> names_of(Fd folder, const std::string& path) {
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Close> stream(folder ? ::fdopendir(folder.get()) : nullptr);
  if (!stream) return fail_errno(path);
  static_cast<void>(folder.release());
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return fail_errno(path);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Fd open_folder(int parent, const std::string& name) {
  return Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<std::vector<std::string>> names_in(const std::string& path) {
  return names_of(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path);
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  return names_of(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path);
}

}  // namespace muster
