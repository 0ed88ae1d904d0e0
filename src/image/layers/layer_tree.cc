#include "image/layers/layer_tree.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "image/layers/sparse.h"
#include "os/packing/archive_member.h"
#include "os/packing/confined_tree.h"

namespace muster::image {
namespace {

using packing::path_text;

constexpr int links_max = 40;  ///< In one path; the kernel's own figure.
constexpr std::size_t depth_max = 256;
constexpr std::uint64_t name_bytes = 1024;     ///< An inode, and its name in its folder.
constexpr std::size_t in_inode_bytes = 60;     ///< A longer link takes a block of its own on ext4.
constexpr std::size_t noted_bytes_each = 128;  ///< A set's or map's element.
constexpr std::size_t extended_bytes_max = 64u << 10;  ///< The kernel's, of names and of a value.
constexpr const char* opaque = "trusted.overlay.opaque";
/// What an overlay mounted with `userxattr` reads, where trusted.* may not be set.
constexpr const char* opaque_of_users = "user.overlay.opaque";

Error invalid_entry(const LayerTree::Parts& path, const std::string& text) {
  return fail(Errc::protocol, path_text(path) + text);
}

LayerTree::Parts with(LayerTree::Parts at, const std::string& name) {
  at.push_back(name);
  return at;
}

bool is_whiteout(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

bool is_opaque(int folder) {
  char value = 0;
  return (::fgetxattr(folder, opaque, &value, 1) == 1 && value == 'y') ||
         (::fgetxattr(folder, opaque_of_users, &value, 1) == 1 && value == 'y');
}

Result<void> make_opaque(int folder, const LayerTree::Parts& path) {
  if (::fsetxattr(folder, opaque, "y", 1, 0) == 0) return {};
  if (errno == EPERM && ::fsetxattr(folder, opaque_of_users, "y", 1, 0) == 0) return {};
  return fail_errno("cannot mark the folder as opaque: " + path_text(path));
}

/// The attributes that an image may give its files. Others are the machine's own matter: labels of
/// its security modules, overlay's own marks.
bool is_taken(const std::string& name) {
  return name == "security.capability" ||
         (name.starts_with("user.") && !name.starts_with("user.overlay."));
}

std::vector<std::pair<std::string, std::string>> extended_of(int file) {
  std::vector<std::pair<std::string, std::string>> found;
  std::string names(extended_bytes_max, '\0');
  const ssize_t length = ::flistxattr(file, names.data(), names.size());
  if (length <= 0) return found;
  names.resize(static_cast<std::size_t>(length));
  for (const std::string& name : split(names, '\0')) {
    if (!is_taken(name)) continue;
    std::string value(extended_bytes_max, '\0');
    const ssize_t count = ::fgetxattr(file, name.c_str(), value.data(), value.size());
    if (count >= 0) found.emplace_back(name, value.substr(0, static_cast<std::size_t>(count)));
  }
  return found;
}

/// Error of chown(2) for an id that the user namespace of this process does not have.
constexpr int no_such_id = EINVAL;

/// An owner, then what a change of owner takes away. What cannot have its owner here stays ours,
/// and is counted in `strangers`.
Result<void> give(int file, const LayerTree::Parts& path, const Attributes& attributes,
                  Budget& budget, std::uint64_t& strangers) {
  if (!attributes.extended.empty()) TRY(budget.write(block_bytes));
  for (const auto& [name, value] : attributes.extended)
    TRY(budget.write(name.size() + value.size()));
  const bool owned = ::fchown(file, attributes.user, attributes.group) == 0;
  if (!owned && errno != no_such_id) return fail_errno(path_text(path));
  strangers += owned ? 0 : 1;
  for (const auto& [name, value] : attributes.extended)
    if (is_taken(name) && ::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) != 0 &&
        errno != ENOTSUP)
      return fail_errno("cannot set attribute " + packing::shown(name) + " of " + path_text(path));
  if (::fchmod(file, attributes.mode & 07777) != 0) return fail_errno(path_text(path));
  return {};
}

/// As give().
Result<void> give_name(int folder, const std::string& name, const LayerTree::Parts& path,
                       const Attributes& attributes, std::uint64_t& strangers) {
  const timespec times[2] = {attributes.time, attributes.time};
  const bool owned =
      ::fchownat(folder, name.c_str(), attributes.user, attributes.group, AT_SYMLINK_NOFOLLOW) == 0;
  if ((!owned && errno != no_such_id) ||
      ::utimensat(folder, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(path_text(path));
  strangers += owned ? 0 : 1;
  return {};
}

Attributes attributes_of(const struct stat& status) {
  return {status.st_uid, status.st_gid, status.st_mode & 07777, status.st_mtim};
}

}  // namespace

LayerTree::LayerTree(int root, std::vector<int> lowers, Budget& budget, Meter& meter)
    : root_(root), lowers_(std::move(lowers)), budget_(budget), meter_(meter) {}

/// Before something of so many bytes is kept until the end.
Result<void> LayerTree::note(std::size_t bytes) {
  noted_bytes_ += bytes + noted_bytes_each;
  const std::uint64_t most = budget_.limits().names_bytes_max;
  if (noted_bytes_ <= most) return {};
  return fail(Errc::protocol,
              "the names of the layer's folders and whiteouts exceed the limit of " +
                  std::to_string(most) + " bytes of memory");
}

Result<void> LayerTree::note_time(const Parts& folder, const timespec& time) {
  std::string path = join(folder, "/");
  TRY(note(path.size()));
  times_.insert_or_assign(std::move(path), time);
  return {};
}

Result<void> LayerTree::hide(const Parts& path) {
  std::string text = join(path, "/");
  TRY(note(text.size()));
  hidden_.insert(std::move(text));
  return {};
}

Result<void> LayerTree::hide_below(const Parts& folder) {
  std::string text = join(folder, "/");
  TRY(note(text.size()));
  opaque_.insert(std::move(text));
  return {};
}

/// Opens a path of which every name is a folder, none a link.
Result<Fd> LayerTree::open_real(const Parts& at) const {
  Fd folder = open_folder(root_, ".");
  for (const std::string& name : at) {
    if (!folder) break;
    TRY(meter_.tick());
    folder = open_folder(folder.get(), name);
  }
  if (!folder) return fail_errno(path_text(at));
  return folder;
}

/// What one lower layer has at a path. `ends`: the layers below that one don't matter.
Result<std::optional<LayerTree::Below>> LayerTree::below(int lower, const Parts& path,
                                                         bool& ends) const {
  Below found{open_folder(lower, "."), {}, {}};
  for (std::size_t i = 0; i < path.size(); ++i) {
    TRY(meter_.tick());
    if (i > 0) {
      found.folder = open_folder(found.folder.get(), path[i - 1]);
      ends = ends || (found.folder && is_opaque(found.folder.get()));
    }
    if (!found.folder) return fail_errno("cannot open a lower layer's " + path_text(path));
    if (::fstatat(found.folder.get(), path[i].c_str(), &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return fail_errno("cannot open a lower layer's " + path_text(path));
      return std::optional<Below>();
    }
    const bool is_last = i + 1 == path.size();
    if (is_whiteout(found.status) || (!is_last && !S_ISDIR(found.status.st_mode))) {
      ends = true;
      return std::optional<Below>();
    }
  }
  ends = true;
  found.name = path.back();
  return std::optional<Below>(std::move(found));
}

/// What an overlay of the lower layers shows at a path without links; none if nothing.
Result<std::optional<LayerTree::Below>> LayerTree::below(const Parts& path) const {
  bool ends = false;
  for (const int lower : lowers_) {
    std::optional<Below> found = TRY(below(lower, path, ends));
    if (ends) return found;
  }
  return std::optional<Below>();
}

Result<void> LayerTree::follow(Place& place, const std::string& target,
                               std::deque<std::string>& names, int& links) const {
  if (++links > links_max) return invalid_entry(place.at, ": symbolic links form a loop");
  if (target.starts_with('/')) {
    place.at.clear();
    place.folder = TRY(open_real({}));
  }
  const std::deque<std::string> rest = packing::path_names(target);
  names.insert(names.begin(), rest.begin(), rest.end());
  return {};
}

/// One name further. A folder that the layer has no member for is the one below, if there is one.
Result<void> LayerTree::step(Place& place, const std::string& name, std::deque<std::string>& names,
                             int& links) {
  TRY(meter_.tick());
  const int folder = place.folder.get();
  const Parts here = with(place.at, name);
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return fail_errno(path_text(here));
    const std::optional<Below> lower = TRY(below(here));
    if (lower && S_ISLNK(lower->status.st_mode)) {
      const std::string target = TRY(packing::link_target(lower->folder.get(), lower->name));
      return follow(place, target, names, links);
    }
    TRY(budget_.write(block_bytes));
    if (::mkdirat(folder, name.c_str(), 0755) != 0) return fail_errno(path_text(here));
    if (lower && S_ISDIR(lower->status.st_mode)) {
      const Fd made = open_folder(folder, name);
      const Fd from = open_folder(lower->folder.get(), lower->name);
      if (!made || !from) return fail_errno(path_text(here));
      Attributes attributes = attributes_of(lower->status);
      attributes.extended = extended_of(from.get());
      TRY(give(made.get(), here, attributes, budget_, strangers_));
      TRY(note_time(here, attributes.time));
    }
  } else if (S_ISLNK(status.st_mode)) {
    const std::string target = TRY(packing::link_target(folder, name));
    return follow(place, target, names, links);
  } else if (!S_ISDIR(status.st_mode)) {
    return invalid_entry(here, " is a file here, but a folder elsewhere in the layer");
  }
  place.folder = open_folder(folder, name);
  if (!place.folder) return fail_errno(path_text(here));
  place.at.push_back(name);
  if (place.at.size() > depth_max)
    return invalid_entry(here,
                         " is nested more than " + std::to_string(depth_max) + " folders deep");
  return {};
}

Result<LayerTree::Place> LayerTree::walk(const Parts& folders) {
  Place place{TRY(open_real({})), {}};
  std::deque<std::string> names(folders.begin(), folders.end());
  int links = 0;
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    if (name != "..") {
      TRY(step(place, name, names, links));
    } else if (!place.at.empty()) {  // Above "/" is "/".
      place.at.pop_back();
      place.folder = TRY(open_real(place.at));
    }
  }
  return place;
}

Result<const LayerTree::Place*> LayerTree::parent_of(const Parts& path) {
  CHECK_THAT(!path.empty(), "the layer's own folder is no member");
  const Parts above(path.begin(), path.end() - 1);
  if (!has_parent_ || cached_ != above) {
    has_parent_ = false;
    parent_ = TRY(walk(above));
    cached_ = above;
    has_parent_ = true;
  }
  return &parent_;
}

/// Removes what has the name; true: a folder is there, and stays.
Result<bool> LayerTree::clear_name(const Place& parent, const std::string& name, bool keep_folder) {
  struct stat status {};
  if (::fstatat(parent.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return fail_errno(path_text(with(parent.at, name)));
  }
  if (keep_folder && S_ISDIR(status.st_mode)) return true;
  has_parent_ = false;  // A folder or link that goes may have been on the path.
  TRY(remove_tree_at(parent.folder.get(), name));
  return false;
}

Result<void> LayerTree::make_folder(const Parts& path, const Attributes& attributes) {
  if (path.empty()) {
    TRY(give(root_, path, attributes, budget_, strangers_));
    return note_time(path, attributes.time);
  }
  const Place* parent = TRY(parent_of(path));
  const std::string& name = path.back();
  const bool there = TRY(clear_name(*parent, name, true));
  const Parts here = with(parent->at, name);
  if (here.size() > depth_max)
    return invalid_entry(here,
                         " is nested more than " + std::to_string(depth_max) + " folders deep");
  if (!there) TRY(budget_.write(block_bytes));
  if (!there && ::mkdirat(parent->folder.get(), name.c_str(), 0700) != 0)
    return fail_errno(path_text(path));
  const Fd folder = open_folder(parent->folder.get(), name);
  if (!folder) return fail_errno(path_text(path));
  TRY(note_time(here, attributes.time));
  return give(folder.get(), path, attributes, budget_, strangers_);
}

Result<Fd> LayerTree::make_file(const Parts& path) {
  TRY(budget_.write(name_bytes));
  const Place* parent = TRY(parent_of(path));
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd file(::openat(parent->folder.get(), path.back().c_str(), flags, 0600));
  if (!file && errno == EEXIST) {
    TRY(clear_name(*parent, path.back(), false));
    file = Fd(::openat(parent->folder.get(), path.back().c_str(), flags, 0600));
  }
  if (!file) return fail_errno(path_text(path));
  return file;
}

Result<void> LayerTree::finish_file(int file, const Parts& path, const Attributes& attributes) {
  TRY(give(file, path, attributes, budget_, strangers_));
  const timespec times[2] = {attributes.time, attributes.time};
  if (::futimens(file, times) != 0) return fail_errno(path_text(path));
  return {};
}

Result<void> LayerTree::make_link(const Parts& path, const std::string& target,
                                  const Attributes& attributes) {
  if (target.empty()) return invalid_entry(path, " is a link with an empty target");
  TRY(budget_.write(name_bytes + (target.size() < in_inode_bytes ? 0 : block_bytes)));
  const Place* parent = TRY(parent_of(path));
  TRY(clear_name(*parent, path.back(), false));
  if (::symlinkat(target.c_str(), parent->folder.get(), path.back().c_str()) != 0)
    return fail_errno(path_text(path));
  return give_name(parent->folder.get(), path.back(), path, attributes, strangers_);
}

Result<void> LayerTree::make_node(const Parts& path, mode_t type, dev_t device,
                                  const Attributes& attributes) {
  TRY(budget_.write(name_bytes));
  const Place* parent = TRY(parent_of(path));
  TRY(clear_name(*parent, path.back(), false));
  const int folder = parent->folder.get();
  const char* name = path.back().c_str();
  if (::mknodat(folder, name, type | 0600, device) != 0) return fail_errno(path_text(path));
  if (::fchmodat(folder, name, attributes.mode & 0777, 0) != 0) return fail_errno(path_text(path));
  return give_name(folder, path.back(), path, attributes, strangers_);
}

/// As an overlay does for a file that is changed.
Result<void> LayerTree::copy_up(const Place& parent, const std::string& name, const Below& from) {
  const Parts here = with(parent.at, name);
  Attributes attributes = attributes_of(from.status);
  if (S_ISLNK(from.status.st_mode)) {
    const std::string target = TRY(packing::link_target(from.folder.get(), from.name));
    return make_link(here, target, attributes);
  }
  if (!S_ISREG(from.status.st_mode))
    return invalid_entry(here, " cannot have a hard link: it is not a regular file");
  const Fd source(
      ::openat(from.folder.get(), from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return fail_errno(path_text(here));
  attributes.extended = extended_of(source.get());
  const Fd file = TRY(make_file(here));
  const Result<void> copied = copy_sparse(source.get(), file.get(), budget_, meter_);
  if (!copied) return copied.error().in(path_text(here));
  return finish_file(file.get(), here, attributes);
}

Result<void> LayerTree::make_hard_link(const Parts& path, const Parts& target) {
  if (target.empty()) return invalid_entry(path, " links to the layer's own folder");
  TRY(budget_.write(name_bytes));
  const Place from = TRY(walk({target.begin(), target.end() - 1}));
  struct stat source {};
  if (::fstatat(from.folder.get(), target.back().c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return fail_errno(path_text(target));
    const std::optional<Below> lower = TRY(below(with(from.at, target.back())));
    if (!lower)
      return invalid_entry(path, " links to " + path_text(target) +
                                     ", which is neither in the layer nor in one below it");
    TRY(copy_up(from, target.back(), *lower));
    if (::fstatat(from.folder.get(), target.back().c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(path_text(target));
  }
  if (S_ISDIR(source.st_mode))
    return invalid_entry(path, " links to a folder, " + path_text(target));
  const Place* parent = TRY(parent_of(path));
  struct stat there {};
  if (::fstatat(parent->folder.get(), path.back().c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      there.st_ino == source.st_ino && there.st_dev == source.st_dev)
    return {};
  TRY(clear_name(*parent, path.back(), false));
  if (::linkat(from.folder.get(), target.back().c_str(), parent->folder.get(), path.back().c_str(),
               0) != 0)
    return fail_errno(path_text(path));
  return {};
}

/// A whiteout, where something has to be hidden: one too many would be seen in listings of a
/// folder that no lower layer has.
Result<void> LayerTree::hide_now(const Parts& path) {
  const std::string text = join(path, "/");
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    TRY(meter_.tick());
    if (opaque_.contains(std::string_view(text).substr(0, at))) return {};
  }
  const std::optional<Below> lower = TRY(below(path));
  if (!lower) return {};
  const Place* parent = TRY(parent_of(path));
  const int folder = parent->folder.get();
  struct stat status {};
  if (::fstatat(folder, path.back().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    // The layer has its own in place of it, which must not be joined with what is hidden.
    if (!S_ISDIR(status.st_mode)) return {};
    const Fd own = open_folder(folder, path.back());
    if (!own) return fail_errno(path_text(path));
    return make_opaque(own.get(), path);
  }
  TRY(budget_.write(name_bytes));
  if (::mknodat(folder, path.back().c_str(), S_IFCHR, makedev(0, 0)) != 0)
    return fail_errno("cannot create the whiteout for " + path_text(path));
  return {};
}

/// The layer's own folder can't be opaque: overlays look for the mark below it only.
Result<void> LayerTree::hide_all_now() {
  std::set<std::string> names;
  for (const int lower : lowers_)
    for (std::string& name : TRY(names_in(lower, "a lower layer"))) {
      TRY(note(name.size()));
      names.insert(std::move(name));
    }
  for (const std::string& name : names) TRY(hide_now({name}));
  return {};
}

Result<void> LayerTree::finish() {
  if (opaque_.erase("") > 0) TRY(hide_all_now());
  // Backwards: what is hidden below a folder comes before the folder itself.
  for (auto path = hidden_.rbegin(); path != hidden_.rend(); ++path)
    TRY(hide_now(split(*path, '/')));
  for (const std::string& text : opaque_) {
    const Parts path = split(text, '/');
    const Place place = TRY(walk(path));
    TRY(make_opaque(place.folder.get(), path));
  }
  for (const auto& [text, time] : times_) {
    const Result<Fd> folder = open_real(text.empty() ? Parts() : split(text, '/'));
    if (!folder) {
      TRY(meter_.look());  // Or it was replaced since.
      continue;
    }
    const timespec times[2] = {time, time};
    if (::futimens(folder->get(), times) != 0) return fail_errno(packing::shown(text));
  }
  return meter_.look();
}

}  // namespace muster::image
