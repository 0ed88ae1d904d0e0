#include "base/files/folder.h"

#include <fcntl.h>

#include <algorithm>

#include "base/files/each_name.h"

namespace muster {
namespace {

Result<std::vector<std::string>> names_of(Fd folder, const std::string& path) {
  std::vector<std::string> names;
  TRY(each_name(std::move(folder), path, [&names](const std::string& name) {
    names.push_back(name);
    return true;
  }));
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
