#include "os/packing/listing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/files/each_name.h"

namespace muster::packing {
namespace {

using Roots = std::vector<std::size_t>;

constexpr std::size_t names_bytes_max = 8u << 20;  ///< In all folders that are sorted at a time.
constexpr std::size_t name_bytes = 64;             ///< What a name takes besides.

Result<std::string> link_target(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t count = ::readlink(path.c_str(), target.data(), target.size());
  if (count < 0) return fail_errno("cannot read " + path);
  target.resize(static_cast<std::size_t>(count));
  return target;
}

bool is_special(const struct stat& status) {
  return !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode);
}

class Walk {
 public:
  using Take = std::function<Result<void>(const TreeEntry&)>;
  Walk(const std::vector<std::string>& roots, const Take& take) : roots_(roots), take_(take) {}

  Result<void> run() {
    Roots there;
    for (std::size_t root = 0; root < roots_.size(); ++root) {
      struct stat status {};
      const bool is_there = ::lstat(roots_[root].c_str(), &status) == 0;
      if (!is_there && errno != ENOENT) return fail_errno(roots_[root]);
      if (is_there && S_ISDIR(status.st_mode)) there.push_back(root);
    }
    return folder(there);
  }

 private:
  std::string at(std::size_t root) const {
    return roots_[root] + (path_.empty() ? "" : "/" + path_);
  }

  /// False if there is none. Error: also if that cannot be found out.
  Result<bool> look(std::size_t root, struct stat& status) const {
    if (::lstat(at(root).c_str(), &status) == 0) return true;
    if (errno == ENOENT) return false;
    return fail_errno(at(root));
  }

  Result<void> each(std::size_t root, const std::function<Result<void>(const std::string&)>& use) {
    const std::string path = at(root);
    Result<void> used;
    TRY(each_name(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path,
                  [&](const std::string& name) {
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

  Result<TreeEntry> entry_of(std::size_t root, const struct stat& status) const {
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
      entry.target = TRY(link_target(at(root)));
    }
    return entry;
  }

  const std::vector<std::string>& roots_;
  const Take& take_;
  std::string path_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

Result<void> walk_trees(const std::vector<std::string>& roots,
                        const std::function<Result<void>(const TreeEntry& entry)>& take) {
  return Walk(roots, take).run();
}

Result<std::vector<TreeEntry>> walk_tree(const std::string& root) {
  std::vector<TreeEntry> entries;
  TRY(walk_trees({root}, [&entries](const TreeEntry& entry) -> Result<void> {
    entries.push_back(entry);
    return {};
  }));
  return entries;
}

}  // namespace muster::packing
