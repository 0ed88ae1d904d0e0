#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster {

/// The folders on this machine that belong to muster, of all users: state folders of `sm fit`, data
/// folders of servers. They hold keys, journals and users' files, so jobs must not see any of them,
/// not even one of another state folder. `register_file` has a line for each
/// (docs/protocols/job-folder.md).
///
/// The register is neither below a state folder nor in /run: secrets of a stopped server stay on
/// disk, even after the machine has rebooted.
inline constexpr const char* private_folder_register = "/var/lib/muster/folders";

/// Where `sm fit` keeps its state if MUSTER_STATE says nothing else.
inline constexpr const char* default_state_folder = "/var/lib/muster";

/// The state folder that `env` names (MUSTER_STATE), else the machine's or the ordinary user's;
/// absolute.
std::string state_folder(const Env& env);

/// Notes a folder that exists, by its real path, before anything secret is put into it. Those that
/// are no longer there are dropped. Blocks for a moment (flock). Errors: `not_found`; `denied`,
/// `system`; `invalid_input` for one with a line break in its path.
Result<void> note_private_folder(const std::string& register_file, const std::string& folder);

/// All that were noted. Error: `system`.
Result<std::vector<std::string>> private_folders(const std::string& register_file);

}  // namespace muster
