#include "container/bundle/host_skeleton.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr unsigned masked_bits = 07022;  ///< Removed by mkdir(2) or a steward's umask, 022.

struct Folder {
  const char* path;
  unsigned mode;
};
constexpr Folder folders[] = {{"/dev", 0755},     {"/etc", 0755},       {"/home", 0755},
                              {"/media", 0755},   {"/mnt", 0755},       {"/opt", 0755},
                              {"/proc", 0755},    {"/root", 0700},      {"/run", 0755},
                              {"/srv", 0755},     {"/sys", 0755},       {"/tmp", 01777},
                              {"/var", 0755},     {"/var/cache", 0755}, {"/var/lib", 0755},
                              {"/var/log", 0755}, {"/var/spool", 0755}, {"/var/tmp", 01777}};
struct Link {
  const char* path;
  const char* target;
};
constexpr Link links[] = {
    {"/var/run", "/run"}, {"/var/lock", "/run/lock"}, {"/etc/mtab", "/proc/self/mounts"}};

/// The host's root while it is being built.
class Skeleton {
 public:
  Skeleton(const std::string& root, const IdMap& ids) : root_(root), ids_(ids) {}

  /// Also creates the parent folders.
  Result<void> folder(const std::string& path, unsigned mode = 0755) {
    const std::string at = root_ + path;
    if (::mkdir(at.c_str(), mode) == 0) {
      if ((mode & masked_bits) != 0 && ::chmod(at.c_str(), mode) != 0)
        return fail_errno("cannot change the mode of " + at);
      return give(at, ids_);
    }
    if (errno == EEXIST) return {};
    if (errno != ENOENT) return fail_errno("cannot create " + at);
    TRY(folder(path.substr(0, path.rfind('/'))));
    return folder(path, mode);
  }
  Result<void> link(const std::string& path, const std::string& target) {
    const std::string at = root_ + path;
    if (::symlink(target.c_str(), at.c_str()) != 0)
      return fail_errno("cannot create the link " + at);
    return give(at, ids_);
  }
  Result<void> file(const std::string& path, const std::string& text) {
    const std::string at = root_ + path;
    TRY(write_file(at, text));
    return give(at, ids_);
  }
  /// Copies a file of the machine, regardless of its owner; skips it if not all users can read it.
  Result<void> copy(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return {};
    const std::string at = root_ + path;
    std::error_code code;
    fs::copy_file(path, at, code);
    if (code) return fail(Errc::system, at + ": " + code.message());
    return give(at, ids_);
  }

 private:
  const std::string& root_;
  const IdMap& ids_;
};

Result<void> add_top_links(Skeleton& skeleton) {
  for (const std::string& name : program_folders) {
    std::error_code code;
    const fs::path target = fs::read_symlink("/" + name, code);
    if (!code) TRY(skeleton.link("/" + name, target.string()));
  }
  return {};
}

/// `below` is "" for /etc itself, else "ssl/".
Result<void> add_etc(Skeleton& skeleton, const std::string& below,
                     std::vector<std::string>& shown) {
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/etc/" + below, code)) {
    const std::string name = below + entry.path().filename().string();
    const std::string path = "/etc/" + name;
    if (is_partly_shown_in_etc(name) && entry.is_directory(code)) {
      TRY(skeleton.folder(path));
      TRY(add_etc(skeleton, name + "/", shown));
    }
    if (!is_shown_in_etc(name)) continue;
    if (entry.is_symlink(code)) {
      TRY(skeleton.link(path, fs::read_symlink(entry.path(), code).string()));
    } else if (entry.is_directory(code)) {
      TRY(skeleton.folder(path));
      shown.push_back(path);
    } else if (entry.is_regular_file(code)) {
      TRY(skeleton.copy(path));
    }
  }
  return {};
}

Result<void> add_accounts(Skeleton& skeleton) {
  for (const char* path : {"/etc/passwd", "/etc/group"}) {
    const Result<std::string> text = read_file(path);
    if (text) TRY(skeleton.file(path, system_accounts(*text)));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> make_skeleton(const RootView& view, const std::string& root,
                                               const IdMap& ids) {
  TRY(make_folders(root));
  Skeleton skeleton(root, ids);
  for (const Folder& folder : folders) TRY(skeleton.folder(folder.path, folder.mode));
  for (const Link& link : links) TRY(skeleton.link(link.path, link.target));
  TRY(add_top_links(skeleton));
  std::vector<std::string> of_etc;
  TRY(add_etc(skeleton, "", of_etc));
  TRY(add_accounts(skeleton));
  for (const std::string& path : view.trees) TRY(skeleton.folder(path));
  for (const std::string& path : view.programs) TRY(skeleton.folder(path));
  return of_etc;
}

}  // namespace muster::container
