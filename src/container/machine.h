#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/bundle.h"

namespace muster::container {

/// Mount points that a mountinfo file (proc(5)) lists, decoded, in its order. Pure.
std::vector<std::string> mount_points(std::string_view mountinfo);

/// True if a host would not see `path` by itself: it lies on a mount below the machine's root
/// (an overlay of / does not cross mounts), or where a host has a file system of its own
/// (/tmp, /run, /dev/shm). Pure. `path` is absolute.
bool outside_root(std::string_view path, const std::vector<std::string>& mount_points);

/// `paths` without those inside another one, and without doubles; sorted. Pure.
std::vector<std::string> outermost(std::vector<std::string> paths);

/// True if a mount point lies inside `folder` (not `folder` itself). Pure.
bool has_mounts_inside(std::string_view folder, const std::vector<std::string>& mount_points);

/// Reads the machine: home folders, what must be bound so that the submitter's interpreter and
/// PATH work in the host (a virtual environment is followed to the interpreter that it was made
/// from), limits. `network_namespace` and `args` stay empty.
/// Error: `system` when /proc cannot be read.
Result<Facts> machine_facts(const job::HostSpec& spec, const Env& env);

/// The folders that an interpreter needs: its own prefix and those of every link and pyvenv.cfg on
/// the way to the real one. Reads the disk; what does not exist is passed over.
std::vector<std::string> interpreter_folders(const std::string& python);

}  // namespace muster::container
