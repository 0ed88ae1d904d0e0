#include "base/files/each_name.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace muster {

Result<void> each_name(Fd folder, const std::string& path,
                       const std::function<bool(const std::string&)>& take) {
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Close> stream(folder ? ::fdopendir(folder.get()) : nullptr);
  if (!stream) return fail_errno("cannot list folder " + path);
  static_cast<void>(folder.release());
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !take(std::string(name))) return {};
    errno = 0;
  }
  if (errno != 0) return fail_errno("cannot list folder " + path);
  return {};
}

}  // namespace muster
