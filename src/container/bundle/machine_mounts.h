#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "container/bundle/root_view.h"
#include "container/host_limits.h"
#include "job/host_spec.h"

namespace muster::container {

/// The paths of mounts_of(). Pure.
std::vector<std::string> mount_points(std::string_view mountinfo);

/// True if a mount point lies inside `folder` (not `folder` itself). Pure.
bool has_mounts_inside(std::string_view folder, const std::vector<std::string>& mount_points);

/// What a steward finds on its machine.
struct Machine {
  std::string program;  ///< The running `sm`.
  RootView view;
  std::vector<std::string> muster_folders;  ///< All of muster's on the machine; no host sees them.
  MachineSize size;
  std::uint64_t open_files_max = 1024;  ///< Hard limit.
};
/// Reads the machine: its programs, the submitter's interpreter and PATH (a virtual environment is
/// followed to the interpreter that it was made from), homes, limits.
/// Error: `system` when /proc cannot be read.
Result<Machine> read_machine(const job::HostSpec& spec, const Env& env);

/// The folders that an interpreter needs: its own prefix and those of every link and pyvenv.cfg on
/// the way to the real one. Reads the disk; what does not exist is passed over.
std::vector<std::string> interpreter_folders(const std::string& python);

}  // namespace muster::container
