#include "base/files/given_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include "base/files/folder.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr int hold = O_PATH | O_NOFOLLOW | O_CLOEXEC;
using Status = struct stat;

std::deque<std::string> parts_of(const std::string& path) {
  std::deque<std::string> parts;
  for (const std::string& part : split(path, '/'))
    if (!part.empty() && part != ".") parts.push_back(part);
  return parts;
}

Error not_a_folder(const std::string& path) {
  return fail(Errc::invalid_input, path + " is not a folder");
}

Result<std::string> target_of(const Fd& link, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) return fail_errno("cannot read the link " + path);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

bool is_on_proc(const Fd& fd) {
  struct statfs status {};
  return ::fstatfs(fd.get(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/// One walk over a path.
class Walk {
 public:
  Walk(const std::string& path, LinkOwner caller, const CheckFolder& check)
      : way_(path), caller_(caller), check_(check) {}

  Result<GivenPath> go() {
    TRY(start());
    return go_on();
  }

  /// As go(), from a folder that is held.
  Result<GivenPath> go_from(const GivenPath& folder) {
    at_ = Fd(::fcntl(folder.held.get(), F_DUPFD_CLOEXEC, 3));
    if (!at_) return fail_errno("cannot open " + folder.path);
    path_ = folder.path == "/" ? "" : folder.path;
    return go_on();
  }

 private:
  Result<GivenPath> go_on() {
    while (const std::optional<std::string> name = way_.next()) {
      if (!TRY(step(*name))) return with_missing(*name);
    }
    return GivenPath{std::move(at_), path_.empty() ? "/" : path_};
  }

  Result<void> start() {
    at_ = Fd(::open("/", hold | O_DIRECTORY));
    path_.clear();
    if (!at_) return fail_errno("cannot open /");
    return check_(at_, "/");
  }

  /// False: there is nothing of that name.
  Result<bool> step(const std::string& name) {
    const std::string path = name == ".." ? path_.substr(0, path_.rfind('/')) : path_ + "/" + name;
    // With O_DIRECTORY the kernel also mounts what autofs has there.
    Fd found(::openat(at_.get(), name.c_str(), hold | O_DIRECTORY));
    if (found) return enter(std::move(found), path);
    if (errno == ENOTDIR || errno == ELOOP) found = Fd(::openat(at_.get(), name.c_str(), hold));
    if (!found && errno == ENOENT) return false;
    if (!found && errno == ENOTDIR) return not_a_folder(path_);
    Status status{};
    if (!found || ::fstat(found.get(), &status) != 0) return fail_errno("cannot open " + path);
    if (S_ISLNK(status.st_mode)) return follow(found, status.st_uid, name, path);
    return enter(std::move(found), path);
  }

  Result<bool> enter(Fd found, const std::string& path) {
    at_ = std::move(found);
    path_ = path;
    TRY(check_(at_, path_.empty() ? "/" : path_));
    return true;
  }

  /// The owner and the target are those of one link, however often it is replaced meanwhile.
  Result<bool> follow(const Fd& link, uid_t owner, const std::string& name,
                      const std::string& path) {
    const std::string target = TRY(target_of(link, path));
    if (caller_ && owner != 0 && owner != *caller_) return refused(path, owner, target);
    if (is_on_proc(link)) return follow_kernel(name, path);
    if (!way_.follow(target))
      return fail(Errc::unsupported, path + ": more than " + std::to_string(WayToGo::links_max) +
                                         " symbolic links in the path");
    link_ = path;
    if (target.starts_with('/')) TRY(start());
    return true;
  }

  /// Only the kernel knows where /proc/self/fd/3 leads. No user can replace links of /proc.
  Result<bool> follow_kernel(const std::string& name, const std::string& path) {
    Fd found(::openat(at_.get(), name.c_str(), O_PATH | O_CLOEXEC));
    if (!found) return fail_errno("cannot open " + path);
    std::error_code code;
    const std::string real = std::filesystem::read_symlink(held_path(found), code);
    return enter(std::move(found), !code && real.starts_with('/') ? real : path);
  }

  Error refused(const std::string& path, uid_t owner, const std::string& target) const {
    const std::filesystem::path folder = path_.empty() ? "/" : path_;
    const std::string instead = (folder / target).lexically_normal().string() + way_.rest();
    return fail(Errc::unsupported,
                path + ": this symbolic link belongs to user " + std::to_string(owner) +
                    ", whose links muster does not follow here; use " + instead + " instead");
  }

  Result<GivenPath> with_missing(const std::string& first) {
    const std::string path = path_ + "/" + first;
    errno = ENOENT;
    if (way_.is_in_link()) return fail_errno("cannot open " + link_);
    GivenPath given{std::move(at_), path_.empty() ? "/" : path_, {first}};
    while (const std::optional<std::string> name = way_.next()) {
      if (*name == "..") return fail_errno("cannot open " + path);
      given.missing.push_back(*name);
    }
    return given;
  }

  WayToGo way_;
  LinkOwner caller_;
  const CheckFolder& check_;
  Fd at_;
  std::string link_;  ///< The last one that was followed.
  std::string path_;  ///< The path of `at_`; empty: "/".
};

/// Error: a part of the path is missing. `shown`: the path as it was given.
Result<GivenPath> existing(GivenPath given, const std::string& shown) {
  errno = ENOENT;
  if (!given.missing.empty()) return fail_errno("cannot open " + shown);
  return given;
}

Result<Fd> open_held_file(const Fd& held, const std::string& shown) {
  Status status{};
  if (::fstat(held.get(), &status) != 0) return fail_errno("cannot open " + shown);
  // Opening a device or a pipe may wait, or do something to it.
  if (!S_ISREG(status.st_mode)) return fail(Errc::invalid_input, shown + " is not a regular file");
  Fd file(::open(held_path(held).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + shown);
  return file;
}

/// The error in terms of the path that was given, instead of a descriptor.
Error named(Error error, const std::string& own, const std::string& path) {
  if (const std::size_t at = error.text.find(own); at != std::string::npos)
    error.text.replace(at, own.size(), path);
  return error;
}

Result<void> pass(const Fd&, const std::string&) {
  return {};
}

}  // namespace

WayToGo::WayToGo(const std::string& path) : parts_(parts_of(path)) {}

std::optional<std::string> WayToGo::next() {
  if (parts_.empty()) return std::nullopt;
  std::string part = std::move(parts_.front());
  parts_.pop_front();
  is_in_link_ = of_links_ > 0;
  if (of_links_ > 0) --of_links_;
  return part;
}

bool WayToGo::follow(const std::string& target) {
  if (links_ == links_max) return false;
  ++links_;
  const std::deque<std::string> first = parts_of(target);
  parts_.insert(parts_.begin(), first.begin(), first.end());
  of_links_ += first.size();
  return true;
}

std::string WayToGo::rest() const {
  std::string text;
  for (const std::string& part : parts_) text += "/" + part;
  return text;
}

std::string GivenPath::whole() const {
  std::string text = path == "/" ? "" : path;
  for (const std::string& name : missing) text += "/" + name;
  return text.empty() ? "/" : text;
}

Result<GivenPath> walk_given(const std::string& path, LinkOwner caller) {
  return walk_given(path, caller, pass);
}

Result<GivenPath> walk_given(const std::string& path, LinkOwner caller, const CheckFolder& check) {
  return Walk(path, caller, check).go();
}

Result<GivenPath> find_given(const std::string& path, LinkOwner caller) {
  std::error_code code;
  GivenPath given = TRY(walk_given(std::filesystem::absolute(path, code).string(), caller));
  return existing(std::move(given), path);
}

Result<GivenPath> find_given(const GivenPath& folder, const std::string& below, LinkOwner caller) {
  const CheckFolder check = pass;
  GivenPath given = TRY(Walk(below, caller, check).go_from(folder));
  return existing(std::move(given), folder.path + "/" + below);
}

Result<Fd> open_file(const GivenPath& given) {
  return open_held_file(given.held, given.path);
}

Result<Fd> open_given_folder(const std::string& path, LinkOwner caller) {
  const GivenPath given = TRY(find_given(path, caller));
  Fd folder(::openat(given.held.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOTDIR) return not_a_folder(path);
  if (!folder) return fail_errno("cannot open " + path);
  return folder;
}

Result<Fd> open_given_file(const std::string& path, LinkOwner caller) {
  const GivenPath given = TRY(find_given(path, caller));
  return open_held_file(given.held, path);
}

Result<Fd> open_given_file(const GivenPath& folder, const std::string& below, LinkOwner caller) {
  const GivenPath given = TRY(find_given(folder, below, caller));
  return open_file(given);
}

Result<std::string> read_given(const std::string& path, std::size_t bytes_max, LinkOwner caller) {
  const GivenPath given = TRY(find_given(path, caller));
  const std::string own = held_path(given.held);
  Result<std::string> text = read_file(own, bytes_max);
  if (text) return text;
  return named(text.error(), own, path);
}

Result<void> write_given(const std::string& path, std::string_view text, LinkOwner caller) {
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(path, code);
  const GivenPath folder = TRY(walk_given(whole.parent_path().string(), caller));
  errno = ENOENT;
  if (!folder.missing.empty()) return fail_errno("cannot create " + path);
  const std::string own = held_path(folder.held) + "/" + whole.filename().string();
  const Result<void> written = write_file(own, text);
  if (written) return {};
  return named(written.error(), own, path);
}

Result<Fd> make_given_folder(const GivenPath& given, const std::optional<Owner>& owner,
                             unsigned mode) {
  std::string path = given.path == "/" ? "" : given.path;
  Fd at(::openat(given.held.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at && errno == ENOTDIR) return not_a_folder(path);
  if (!at) return fail_errno("cannot open " + given.path);
  for (const std::string& name : given.missing) {
    path += "/" + name;
    const bool is_new = ::mkdirat(at.get(), name.c_str(), mode) == 0;
    if (!is_new && errno != EEXIST) return fail_errno("cannot create folder " + path);
    at = open_folder(at.get(), name);
    if (!at) return fail_errno("cannot open " + path);
    if (is_new && owner && ::fchown(at.get(), owner->user, owner->group) != 0)
      return fail_errno("cannot change the owner of " + path);
  }
  return at;
}

std::string held_path(const Fd& held) {
  return "/proc/self/fd/" + std::to_string(held.get());
}

}  // namespace muster
