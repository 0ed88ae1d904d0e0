#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/files/clean_tree.h"
#include "base/result.h"
#include "cli/fit/fit_options.h"
#include "job/spec.h"

namespace muster::cli {

/// The folders and files of a job, found on the disk. All absolute, links resolved.
struct Places {
  std::string source_folder;  ///< Empty: an image's own program runs.
  std::string script;         ///< Relative to it.
  std::vector<job::InputChannel> inputs;
  std::string output;         ///< Empty: none was asked for.
  std::string checkpoints{};  ///< Empty: none was requested. It may not exist yet.
  std::vector<job::BoundPath> bound{};
  std::string pip_conf{};  ///< Empty: pip reads in the hosts what it finds there.
};

/// Looks at the disk. Relative paths are relative to `cwd`; `owner` is submitter(). Error:
/// `invalid_input`, in one line that names the flag, the path and what was expected.
Result<Places> find_places(const FitOptions& options, const std::string& cwd,
                           const std::optional<Owner>& owner = std::nullopt);

/// Replaces paths of `options` by the real ones where links are on the way, as walk_given() follows
/// them. To be called before this process enters a user namespace, in which root's links look like
/// other users'. Error: `invalid_input` for a link that is not followed.
Result<void> resolve_links(FitOptions& options, const std::string& cwd);

/// The folder at `path` (absolute), with links resolved as walk_given() does. Error:
/// `invalid_input`, starting with `what`: it is not a folder, or not readable.
Result<std::string> real_folder(const std::string& what, const std::string& path);

/// The file that pip reads in the hosts, with links resolved as walk_given() does: `given`, else
/// the file that PIP_CONFIG_FILE names for the caller's pip; empty if neither is set. Reads the
/// disk. Error: `invalid_input`: `given` is not a file.
Result<std::string> pip_conf_of(const std::string& given, const Env& env, const std::string& cwd);

/// The virtual environment that the user probably meant although `program` is not in it: the one
/// that VIRTUAL_ENV names or, under sudo, which drops that variable, `.venv` or `venv` next to the
/// script or in `cwd`. Empty if there is none, or `program` is in it. Reads the disk.
std::string lost_venv(const Env& env, const std::string& program, const Places& places,
                      const std::string& cwd);

/// The user who runs `sm fit` through sudo and owns its results; none if it runs without sudo.
/// Pure. Source: sudo(8), SUDO_UID and SUDO_GID.
std::optional<Owner> submitter(const Env& env);

/// The folder that this process is in, absolute. Error: `system` where it is gone or hidden.
Result<std::string> current_folder();

/// `path` as an absolute one, without "." and "..", links not resolved. Pure.
std::string absolute(const std::string& path, const std::string& cwd);

}  // namespace muster::cli
