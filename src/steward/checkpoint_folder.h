#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clean_tree.h"
#include "base/fd.h"
#include "base/given_path.h"
#include "steward/checkpoint_sync.h"

namespace muster::steward {

/// The folder of `sm fit --checkpoints`, held by its descriptor: whatever its owner puts in its
/// place later, this one is read and written. Copies share the descriptor.
struct CheckpointFolder {
  std::shared_ptr<const Fd> held;
  std::string path;  ///< For people.
};
/// Errors: as open_given_folder().
Result<CheckpointFolder> open_checkpoint_folder(const std::string& path,
                                                LinkOwner caller = ::geteuid());

/// A folder of the machine's as the place of a job's checkpoints. It may belong to somebody who is
/// not root: no link in it is followed, and what is stored is made under a hidden name and renamed
/// when it is whole and on the disk. Files keep their time and their mode without what lends
/// rights, and are `owner`'s, as folders that are made for them; none given: root's. Takes away
/// what killed stewards have left half made.
std::unique_ptr<CheckpointPlace> checkpoints_in_folder(loop::Loop& loop,
                                                       const CheckpointFolder& folder,
                                                       const std::optional<Owner>& owner);

/// Copies what such a folder holds into the folder `to`, with times and modes, but for what is just
/// being made there and what is neither file nor folder nor link. Links stay links. Blocks. Returns
/// 0 or the errno of what went wrong.
int restore_checkpoints(const CheckpointFolder& from, const std::string& to);

}  // namespace muster::steward
