#include "os/packing/listing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/files/below.h"
#include "base/files/each_name.h"
#include "os/packing/confined_tree.h"

namespace muster::packing {
namespace {

using Roots = std::vector<std::size_t>;

constexpr std::size_t names_bytes_max = 8u << 20;  ///< In all folders that are sorted at a time.
constexpr std::size_t name_bytes = 64;             ///< What a name takes besides.

bool is_special(const struct stat& status) {
  return !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode);
}

class Walk {
 public:
  using Take = std::function<Result<void>(const TreeEntry&)>;
  Walk(std::span<const Root> roots, const Take& take) : roots_(roots), take_(take) {
    for (const Root& root : roots_) below_.emplace_back(root.at.held.get());
  }

  Result<void> run() {
    Roots there;
    for (std::size_t root = 0; root < roots_.size(); ++root)
      if (roots_[root].at.held) there.push_back(root);
    return folder(there);
  }

 private:
  std::string at(std::size_t root) const {
    return roots_[root].at.path + (path_.empty() ? "" : "/" + path_);
  }

  /// The name of the entry at `path_`.
  const char* name() const { return path_.c_str() + path_.rfind('/') + 1; }  // npos + 1 is 0.

  /// The folder of the entry at `path_`; -1 with errno set.
  int parent(std::size_t root) {
    const std::size_t slash = path_.rfind('/');
    return below_[root].folder(
        std::string_view(path_).substr(0, slash == std::string::npos ? 0 : slash));
  }

  /// False if there is none. Error: also if that cannot be found out.
  Result<bool> look(std::size_t root, struct stat& status) {
    const int folder = parent(root);
    if (folder >= 0 && ::fstatat(folder, name(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (errno == ENOENT) return false;
    return fail_errno(at(root));
  }

  Result<void> each(std::size_t root, const std::function<Result<void>(const std::string&)>& use) {
    const int folder = below_[root].folder(path_);
    Fd names(folder < 0 ? -1 : ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Result<void> used;
    TRY(each_name(std::move(names), at(root), [&](const std::string& name) {
      used = use(name);
      return used.has_value();
    }));
    return used;
  }

  /// The names in the folder `path_` of these roots; none if they are too many to be held.
  Result<std::optional<std::set<std::string>>> sorted_names(const Roots& from) {
    std::set<std::string> names;
    std::size_t bytes = 0;
    bool fits = true;
    for (const std::size_t root : from)
      TRY(each(root, [&](const std::string& name) -> Result<void> {
        if (fits && names.insert(name).second) bytes += name.size() + name_bytes;
        fits = fits && held_bytes_ + bytes <= names_bytes_max;
        return {};
      }));
    if (!fits) return std::optional<std::set<std::string>>();
    return std::optional<std::set<std::string>>(std::move(names));
  }

  /// The content of the folder `path_`, which is one in all of these roots.
  Result<void> folder(const Roots& from) {
    const std::optional<std::set<std::string>> names = TRY(sorted_names(from));
    if (!names) return unsorted(from);
    std::size_t bytes = 0;
    for (const std::string& name : *names) bytes += name.size() + name_bytes;
    held_bytes_ += bytes;
    for (const std::string& name : *names) TRY(inner(name, from));
    held_bytes_ -= bytes;
    return {};
  }

  /// Each name by the last root that has it.
  Result<void> unsorted(const Roots& from) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Roots until(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      const Roots later(from.begin() + static_cast<std::ptrdiff_t>(i) + 1, from.end());
      const auto use = [&](const std::string& name) -> Result<void> {
        const bool is_own = TRY(has_any(name, {from[i]}));
        if (!is_own || TRY(has_any(name, later))) return {};
        return inner(name, until);
      };
      TRY(each(from[i], use));
    }
    return {};
  }

  Result<bool> has_any(const std::string& name, const Roots& roots) {
    const std::size_t length = path_.size();
    path_.append(length == 0 ? "" : "/").append(name);
    Result<bool> has = false;
    for (std::size_t i = 0; i < roots.size() && has && !*has; ++i) {
      struct stat status {};
      has = look(roots[i], status);
      if (has && *has && is_special(status)) has = false;
    }
    path_.resize(length);
    return has;
  }

  Result<void> inner(const std::string& name, const Roots& from) {
    const std::size_t length = path_.size();
    path_.append(length == 0 ? "" : "/").append(name);
    TRY(entry(from));
    path_.resize(length);
    return {};
  }

  /// The entry at `path_`, from the last of these roots that has one.
  Result<void> entry(const Roots& from) {
    std::optional<TreeEntry> found;
    Roots folders;
    bool is_there = false;
    for (std::size_t i = from.size(); i-- > 0;) {
      struct stat status {};
      if (!TRY(look(from[i], status))) continue;
      is_there = true;
      if (is_special(status)) continue;
      if (found && !S_ISDIR(status.st_mode)) break;
      if (!found) found = TRY(entry_of(from[i], status));
      if (!S_ISDIR(status.st_mode)) break;
      folders.insert(folders.begin(), from[i]);
    }
    if (!is_there) return fail(Errc::not_found, at(from.back()) + ": it disappeared");
    if (!found) return {};
    TRY(take_(*found));
    return folders.empty() ? Result<void>() : folder(folders);
  }

  Result<TreeEntry> entry_of(std::size_t root, const struct stat& status) {
    TreeEntry entry{path_};
    entry.mode = status.st_mode & 0777;  // Unpacking must not give another user's rights.
    entry.time = std::max<std::int64_t>(0, status.st_mtim.tv_sec);
    entry.root = root;
    if (S_ISDIR(status.st_mode)) {
      entry.kind = TreeEntry::Kind::folder;
    } else if (S_ISREG(status.st_mode)) {
      entry.bytes = static_cast<std::uint64_t>(status.st_size);
    } else {
      entry.kind = TreeEntry::Kind::link;
      const Result<std::string> target = link_target(parent(root), name());
      if (!target) return target.error().in(at(root));
      entry.target = *target;
    }
    return entry;
  }

  std::span<const Root> roots_;
  const Take& take_;
  std::vector<Below> below_;  ///< One for each root.
  std::string path_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

Result<Root> own_root(const std::string& folder, const std::string& below) {
  Root root{.at = {Fd(), below.empty() ? folder : folder + "/" + below}};
  const Fd top(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (top) root.at.held = Below(top.get()).open(below, O_PATH | O_DIRECTORY);
  if (!root.at.held && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    return fail_errno("cannot open " + root.at.path);
  return root;
}

Result<void> walk_trees(std::span<const Root> roots,
                        const std::function<Result<void>(const TreeEntry& entry)>& take) {
  return Walk(roots, take).run();
}

Result<std::vector<TreeEntry>> walk_tree(const Root& root) {
  std::vector<TreeEntry> entries;
  TRY(walk_trees({&root, 1}, [&entries](const TreeEntry& entry) -> Result<void> {
    entries.push_back(entry);
    return {};
  }));
  return entries;
}

}  // namespace muster::packing
