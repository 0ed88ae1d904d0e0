#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::container {

/// The files of the machine that a host sees: an allow list. A host finds programs and libraries,
/// certificates, the interpreter and its environment, and what the job names; no home folder, no
/// other daemon's data, no settings that may hold a secret. Source:
/// docs/decisions/0022-allow-list.md.

struct RootView {
  /// Folders with a separate writable view at their own paths; the host keeps the writes. Sorted;
  /// none inside another, except across a mount: views do not cross mounts.
  std::vector<std::string> trees;
  /// Programs outside those trees, read-only at their own paths: folders in PATH. Sorted; none
  /// inside another or in a tree, except across a mount.
  std::vector<std::string> programs;
  /// Files and folders that a host sees read-only, because its own file system is at their place
  /// (/tmp, /run, /dev/shm). Sorted; none inside another.
  std::vector<std::string> binds;
  /// Homes and muster's own folders inside of these, which stay covered. Sorted.
  std::vector<std::string> masks;

  bool operator==(const RootView&) const = default;
};

/// The view that shows `wanted`, and of `programs` what that does not: absolute paths without "."
/// or
/// "..". A path is passed over that is
/// too wide (the root, a home or one of the machine's own folders, or one that holds such a folder;
/// program_folders are never) or lies in one of `muster_folders`. A home is covered where it lies
/// in what is shown, but for one that holds something wanted: an interpreter, say. Pure.
RootView root_view(const std::vector<std::string>& wanted, const std::vector<std::string>& programs,
                   const std::vector<std::string>& homes,
                   const std::vector<std::string>& muster_folders,
                   const std::vector<std::string>& mount_points);

/// Folders of programs at the root of a machine, those that it may have: "usr", "opt", "lib64", ...
extern const std::vector<std::string> program_folders;

/// True for the entries of /etc that hosts see: "ld.so.cache", "ssl/certs", "python3.11", ... Pure.
bool is_shown_in_etc(std::string_view name);
/// Folders in /etc of which hosts see a part, such as "ssl" for "ssl/certs". Only these folders are
/// listed. Pure.
bool is_partly_shown_in_etc(std::string_view name);

/// The lines of a passwd(5) or group(5) file that every machine has: those with numbers below 1000,
/// and "nobody". Pure.
std::string system_accounts(std::string_view file);
/// The home folders in a passwd(5) file, of root and of people (from 1000 on). Pure.
std::vector<std::string> homes_in(std::string_view passwd);

/// Folders that a host needs for the programs in `folder`, one of a PATH: itself and, if it is the
/// "bin" of some prefix outside of homes, that prefix's libraries and settings. Pure.
std::vector<std::string> program_places(const std::string& folder,
                                        const std::vector<std::string>& homes);

/// Paths in a host of those of `folders` that are inside a tree. The tree is at `from` on the
/// machine and at `to` in the host. If the tree is inside one of `folders`, the result is `to`.
/// Pure.
std::vector<std::string> inside(const std::vector<std::string>& folders, const std::string& from,
                                const std::string& to);

/// True if `path` is `folder` or lies below it. Pure; both absolute.
bool is_in(std::string_view path, std::string_view folder);
/// `paths` without those inside another one, and without doubles; sorted. Pure.
std::vector<std::string> outermost(std::vector<std::string> paths);

}  // namespace muster::container
