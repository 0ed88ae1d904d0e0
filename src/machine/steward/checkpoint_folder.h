#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/files/clean_tree.h"
#include "base/files/given_path.h"
#include "machine/steward/checkpoint_sync.h"

namespace muster::steward {

/// The folder of `sm fit --checkpoints`, held by its descriptor. So this folder is used even if its
/// owner puts another one in its place later. Copies share the descriptor.
struct CheckpointFolder {
  std::shared_ptr<const Fd> held;
  std::string path;  ///< For messages.
};
/// Errors: as open_given_folder().
Result<CheckpointFolder> open_checkpoint_folder(const std::string& path,
                                                LinkOwner caller = ::geteuid());

/// Stores a job's checkpoints in a folder of the machine, which may belong to a user other than
/// root. No link in it is followed. A file is written under a hidden name, and renamed once it is
/// complete and on disk. Files keep their time and their mode, without setuid and similar bits.
/// They and the folders created for them belong to `owner`; without one, to root. Removes
/// half-written files of killed stewards.
std::unique_ptr<CheckpointPlace> checkpoints_in_folder(loop::Loop& loop,
                                                       const CheckpointFolder& folder,
                                                       const std::optional<Owner>& owner);

/// Copies the content of such a folder to the folder `to`, with times and modes. Skips files that
/// are still being written, and entries other than files, folders and links. Links stay links.
/// Blocks. Returns 0 or an errno.
int restore_checkpoints(const CheckpointFolder& from, const std::string& to);

}  // namespace muster::steward
