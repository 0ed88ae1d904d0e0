#include "base/files/own_folder.h"

#include <sys/xattr.h>

#include "base/files/given_path.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr const char* groups_file = "/etc/group";
constexpr const char* access_list = "system.posix_acl_access";
using Status = struct stat;

/// True unless `groups` names somebody else in the group. Debian and others give each user a group
/// of the same name and number, and let it write what the user makes.
bool is_private_group(const Status& status, std::string_view groups) {
  if (status.st_gid != status.st_uid) return false;
  for (const std::string& line : split(groups, '\n')) {
    const std::vector<std::string> fields = split(line, ':');
    if (fields.size() < 4 || fields[2] != std::to_string(status.st_gid)) continue;
    if (!fields[3].empty() && fields[3] != fields[0]) return false;
  }
  return true;
}

Result<void> check_one(const Fd& folder, const std::string& path, uid_t caller, bool is_last) {
  Status status{};
  if (::fstat(folder.get(), &status) != 0) return fail_errno("cannot open " + path);
  const std::string groups =
      (status.st_mode & S_IWGRP) != 0 ? read_file(groups_file).value_or("") : "";
  std::string why = why_not_own(status, caller, is_last, groups);
  // With an access list the group's bits are the most that any user named there has.
  if (why.empty() && (status.st_mode & S_IWGRP) != 0 && (status.st_mode & S_ISVTX) == 0 &&
      ::getxattr(held_path(folder).c_str(), access_list, nullptr, 0) > 0)
    why = "its access control list may let others write to it";
  if (why.empty()) return {};
  return fail(Errc::denied, path + ": not safe for muster's own files: " + why);
}

}  // namespace

std::string why_not_own(const struct stat& status, uid_t caller, bool is_last,
                        std::string_view groups) {
  if (status.st_uid != 0 && status.st_uid != caller)
    return "it belongs to user " + std::to_string(status.st_uid);
  if (!is_last && (status.st_mode & S_ISVTX) != 0) return {};
  if ((status.st_mode & S_IWOTH) != 0) return "all users can write to it";
  if ((status.st_mode & S_IWGRP) != 0 && !is_private_group(status, groups))
    return "group " + std::to_string(status.st_gid) + " can write to it";
  return {};
}

Result<void> check_own_folder(const std::string& path, uid_t caller) {
  const auto check = [&](const Fd& folder, const std::string& at) {
    return check_one(folder, at, caller, false);
  };
  const GivenPath given = TRY(walk_given(path, caller, check));
  if (given.missing.empty()) return check_one(given.held, given.path, caller, true);
  Status status{};
  if (::fstat(given.held.get(), &status) != 0) return fail_errno("cannot open " + given.path);
  if ((status.st_mode & S_ISVTX) == 0) return {};
  const Fd made = TRY(make_given_folder(given, std::nullopt, 0700));
  return check_own_folder(path, caller);
}

}  // namespace muster
