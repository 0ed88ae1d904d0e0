#include "os/packing/confined_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/text.h"
#include "os/packing/archive_member.h"

namespace muster::packing {
namespace {

constexpr int links_max = 40;  ///< In one path; the kernel's own figure.

Fd open_folder(int parent, const char* name) {
  return Fd(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

LeftOut outside() {
  return {"it leads outside the code folder through a link"};
}

}  // namespace

std::string path_text(const Tree::Parts& path) {
  return shown(join(path, "/"));
}

std::deque<std::string> path_names(std::string_view path) {
  std::deque<std::string> names;
  for (std::string& name : split(path, '/'))
    if (!name.empty() && name != ".") names.push_back(std::move(name));
  return names;
}

Result<std::string> link_target(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length < 0) return fail_errno(shown(name));
  target.resize(static_cast<std::size_t>(length));
  return target;
}

Tree::Tree(int root, std::string place, std::size_t depth_max)
    : root_(root), depth_max_(depth_max) {
  for (std::string& name : path_names(place)) place_.push_back(std::move(name));
}

/// Opens a path of which every name is a folder, none a link.
Result<Fd> Tree::open_real(const Parts& path) {
  Fd folder = open_folder(root_, ".");
  for (const std::string& name : path) {
    if (!folder) break;
    folder = open_folder(folder.get(), name.c_str());
  }
  if (!folder) return fail_errno(path_text(path));
  return folder;
}

/// One name further, from a folder that is there.
Result<void> Tree::step(Walked& walked, const std::string& name, bool make,
                        std::deque<std::string>& names, int& links) {
  const int folder = walked.folder.get();
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return fail_errno(shown(name));
    if (make && ::mkdirat(folder, name.c_str(), 0777) != 0) return fail_errno(shown(name));
    status.st_mode = make ? S_IFDIR : 0;
  }
  if (S_ISLNK(status.st_mode)) {
    // A loop leads nowhere, so not outside either.
    if (++links > links_max)
      return fail(Errc::invalid_input, shown(name) + ": symbolic links form a loop");
    const std::string target = TRY(link_target(folder, name));
    std::deque<std::string> rest = path_names(target);
    if (target.starts_with('/')) {
      for (const std::string& part : place_) {
        walked.inside = walked.inside && !rest.empty() && rest.front() == part;
        if (!walked.inside) return {};
        rest.pop_front();
      }
      walked.at.clear();
      walked.folder = TRY(open_real({}));
    }
    names.insert(names.begin(), rest.begin(), rest.end());
    return {};
  }
  walked.at.push_back(name);
  if (S_ISDIR(status.st_mode)) {
    walked.folder = open_folder(folder, name.c_str());
    if (!walked.folder) return fail_errno(shown(name));
  } else {
    walked.folder.reset();
  }
  return {};
}

/// Follows `names` from `from`, links included. With `make`, folders that are missing are made and
/// a file in the way is an error; without, what is missing counts as it is spelled.
Result<Tree::Walked> Tree::walk(Parts from, std::deque<std::string> names, bool make) {
  Walked walked{.inside = true, .at = std::move(from), .folder = {}};
  walked.folder = TRY(open_real(walked.at));
  int links = 0;
  while (!names.empty() && walked.inside) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name == "..") {
      walked.inside = !walked.at.empty();
      if (!walked.inside) break;
      walked.at.pop_back();
      Result<Fd> above = open_real(walked.at);
      walked.folder = above ? std::move(*above) : Fd();
    } else if (walked.folder) {
      TRY(step(walked, name, make, names, links));
      if (make && walked.inside && !walked.folder)
        return fail(
            Errc::invalid_input,
            path_text(walked.at) + " appears both as a file and as a folder in the archive");
    } else {
      walked.at.push_back(name);
    }
    if (make && walked.at.size() > depth_max_)
      return fail(Errc::invalid_input, path_text(walked.at) + " is nested more than " +
                                           std::to_string(depth_max_) + " folders deep");
  }
  return walked;
}

Result<const Tree::Walked*> Tree::parent_of(const Parts& path) {
  CHECK_THAT(!path.empty(), "the root itself is no member");
  const Parts above(path.begin(), path.end() - 1);
  if (!has_parent_ || cached_ != above) {
    has_parent_ = false;
    parent_ = TRY(walk({}, {above.begin(), above.end()}, true));
    cached_ = above;
    has_parent_ = true;
  }
  return &parent_;
}

/// Removes a file or a link of that name; a folder stays and is an error.
Result<void> Tree::clear_name(const Walked& parent, const Parts& path) {
  has_parent_ = false;  // A link that goes may have been on some path.
  if (::unlinkat(parent.folder.get(), path.back().c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR || errno == EPERM)
    return fail(Errc::invalid_input,
                path_text(path) + " appears both as a folder and as something else in the archive");
  return fail_errno(path_text(path));
}

Result<std::pair<Fd, LeftOut>> Tree::make_file(const Parts& path) {
  const Walked* parent = TRY(parent_of(path));
  if (!parent->inside) return std::pair(Fd(), outside());
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd file(::openat(parent->folder.get(), path.back().c_str(), flags, 0600));
  if (!file && errno == EEXIST) {
    TRY(clear_name(*parent, path));
    file = Fd(::openat(parent->folder.get(), path.back().c_str(), flags, 0600));
  }
  if (!file) return fail_errno(path_text(path));
  return std::pair(std::move(file), LeftOut());
}

Result<LeftOut> Tree::make_folder(const Parts& path) {
  const Walked made = TRY(walk({}, {path.begin(), path.end()}, true));
  return made.inside ? LeftOut() : outside();
}

Result<LeftOut> Tree::make_link(const Parts& path, const std::string& target) {
  const Walked* parent = TRY(parent_of(path));
  if (!parent->inside) return outside();
  if (target.empty()) return LeftOut{"a link with an empty target"};
  const int folder = parent->folder.get();
  Parts at = parent->at;
  at.push_back(path.back());
  TRY(clear_name(*parent, path));
  if (::symlinkat(target.c_str(), folder, path.back().c_str()) != 0)
    return fail_errno(path_text(path));
  Result<Walked> end = walk(parent_.at, {path.back()}, false);
  const bool circle = !end && end.error().code == Errc::invalid_input;
  if (!end && !circle) return end.error();
  if (!circle && !end->inside) {
    if (::unlinkat(folder, path.back().c_str(), 0) != 0) return fail_errno(path_text(path));
    return LeftOut{"it links to " + shown(target) + ", outside the code folder"};
  }
  links_.push_back(std::move(at));
  return LeftOut();
}

Result<LeftOut> Tree::make_hard_link(const Parts& path, const std::string& target) {
  std::deque<std::string> names = path_names(target);
  const LeftOut away{"it links to " + shown(target) + ", outside the code folder"};
  if (target.starts_with('/') || names.empty()) return away;
  const std::string last = names.back();
  names.pop_back();
  const Walked from = TRY(walk({}, std::move(names), false));
  if (!from.inside || last == "..") return away;
  const Walked* parent = TRY(parent_of(path));
  if (!parent->inside) return outside();

  struct stat source {};
  if (!from.folder || ::fstatat(from.folder.get(), last.c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0)
    return LeftOut{"it links to " + shown(target) + ", which was not unpacked before it"};
  // A hard link to a symbolic link could resolve to another place: the symbolic link is created
  // again, and checked.
  if (S_ISLNK(source.st_mode)) {
    const std::string text = TRY(link_target(from.folder.get(), last));
    return make_link(path, text);
  }
  if (!S_ISREG(source.st_mode))
    return LeftOut{"it links to " + shown(target) + ", which is not a file"};
  struct stat there {};
  const int folder = parent->folder.get();
  const bool exists = ::fstatat(folder, path.back().c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && there.st_ino == source.st_ino && there.st_dev == source.st_dev) return LeftOut();
  TRY(clear_name(*parent, path));
  if (::linkat(from.folder.get(), last.c_str(), folder, path.back().c_str(), 0) != 0)
    return fail_errno(path_text(path));
  return LeftOut();
}

Result<std::vector<std::string>> Tree::remove_strays() {
  std::vector<std::string> gone;
  for (const Parts& path : links_) {
    const Parts above(path.begin(), path.end() - 1);
    Result<Walked> end = walk(above, {path.back()}, false);
    if (!end && end.error().code != Errc::invalid_input) return end.error();
    if (!end || end->inside) continue;
    const Fd folder = TRY(open_real(above));
    if (::unlinkat(folder.get(), path.back().c_str(), 0) != 0) return fail_errno(path_text(path));
    gone.push_back(join(path, "/"));
  }
  has_parent_ = false;
  return gone;
}

}  // namespace muster::packing
