#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace muster::cluster {

// A folder that a cluster's nodes share with this machine, where its configuration names one
// (docs/decisions/0063-shared-folder.md): a job's archive, layers of its image and `sm` lie in it
// once, and are not copied to each node. All of it blocks.

/// A file that nodes use only if it is unchanged: they check its digest.
struct SharedFile {
  std::string path{};
  std::string digest{};  ///< "sha256:…"; empty, like the path, if there is no such file.

  bool operator==(const SharedFile&) const = default;
};

/// What a job has there; `shared.json` in its folder, for engines that come later.
struct SharedPlaces {
  std::string folder{};  ///< The job's own.
  SharedFile program{};  ///< `sm`, for all jobs of this user's that run this version.
  SharedFile archive{};

  bool operator==(const SharedPlaces&) const = default;
};

/// Makes the job's folder in the user's part of `shared`, noted in `job_folder` before, and puts
/// `program` there unless it is empty. Errors: `denied` if the user's part belongs to another user
/// or is open to others; `not_found`, `system`.
Result<SharedPlaces> make_shared(const std::string& shared, const std::string& job_folder,
                                 const std::string& program);
/// Notes what was put into the folder.
Result<void> write_shared(const std::string& job_folder, const SharedPlaces& places);
/// None if the job has none. Error: `protocol` for a malformed file.
Result<std::optional<SharedPlaces>> read_shared(const std::string& job_folder);
/// Removes the job's folder there, if it has one.
Result<void> remove_shared(const std::string& job_folder);

/// True for `path` itself and paths below it, compared as text; false if `folder` is empty.
bool is_shared(const std::string& path, const std::string& folder);

}  // namespace muster::cluster
