#include "base/files/below.h"

#include <fcntl.h>

#include "base/text.h"

namespace muster {
namespace {

constexpr int hold = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

int Below::folder(std::string_view path) {
  if (path == path_) return at_ ? at_.get() : top_;
  // Never by "..": it leads elsewhere once the folder has been moved.
  const bool is_inner = at_ && path.starts_with(path_ + "/");
  const std::string rest(is_inner ? path.substr(path_.size() + 1) : path);
  Fd at = is_inner ? std::move(at_) : Fd();
  at_.reset();
  path_.clear();
  if (rest.empty()) return top_;
  for (const std::string& name : split(rest, '/')) {
    at = Fd(::openat(at ? at.get() : top_, name.c_str(), hold));
    if (!at) return -1;
  }
  at_ = std::move(at);
  path_ = path;
  return at_.get();
}

Fd Below::open(std::string_view path, int flags) {
  if (path.empty()) return Fd(::openat(top_, ".", flags | O_CLOEXEC));
  const std::size_t slash = path.rfind('/');
  const int parent = folder(slash == std::string_view::npos ? "" : path.substr(0, slash));
  if (parent < 0) return Fd();
  const std::string name(path.substr(slash + 1));  // npos + 1 is 0.
  return Fd(::openat(parent, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace muster
