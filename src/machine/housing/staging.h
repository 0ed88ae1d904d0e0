#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/given_path.h"
#include "container/child_process.h"
#include "container/id_map.h"
#include "job/host_spec.h"

namespace muster::steward {

/// Creates a host's folders and the files that describe the job: bundle/ (the files for /etc), ml/
/// with input/config, model, output, code. `caller`: the user whose symbolic links may be followed.
Result<void> make_host_files(const job::HostSpec& spec, LinkOwner caller = ::geteuid());
/// Gives `user` the folders that the host's programs write to, and muster's own files for them.
Result<void> give_to_user(const job::HostSpec& spec, const job::User& user);
/// Also gives the user the content of the host's folder for checkpoints.
Result<void> give_checkpoints_to_user(const job::HostSpec& spec, const job::User& user);

/// A folder of the submitter, or a channel that the machine's hosts share, of which a host gets a
/// writable view.
struct Staged {
  std::string what;     ///< "channel train", "source folder", for messages.
  std::string from;     ///< Never written to.
  std::string layer;    ///< The folder for the host's writes.
  std::string target;   ///< Below the host's ml/.
  bool is_own = false;  ///< `from` is muster's own folder, not a path from a user.

  bool operator==(const Staged&) const = default;
};
/// Pure.
std::vector<Staged> to_stage(const job::HostSpec& spec);

/// Makes `staged.from` visible at its target, without a copy. If the kernel refuses, or other file
/// systems are mounted inside, it starts a copy, to be awaited (copied()). Error: `invalid_input`
/// if it is not a folder; for the submitter's folders those of open_given_folder().
Result<std::optional<container::Process>> stage(const Staged& staged,
                                                const std::vector<std::string>& mount_points,
                                                const container::IdMap& ids,
                                                LinkOwner caller = ::geteuid());
/// Copies in a separate process, because a copy of gigabytes must not keep the steward from
/// receiving a stop request. The steward has one thread, so the child may call any function. `copy`
/// returns 0 or an errno.
Result<container::Process> start_copy(const std::function<int()>& copy);
/// Waits for a copy that was started. Error: `system`, e.g. a full disk or an unreadable file.
loop::Task<Result<void>> copied(loop::Loop& loop, const Staged& staged, container::Process& copy);

/// Moves /opt/ml/model and /opt/ml/output to result/ next to it, made harmless
/// (base/files/clean_tree.h) and owned by this user. The host must have ended, and nothing may be
/// mounted there. Returns warnings: skipped entries, and which of the two is no longer a folder (a
/// link could lead anywhere).
Result<std::vector<std::string>> collect_results(const job::HostSpec& spec);

}  // namespace muster::steward
