#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/clean_tree.h"
#include "base/result.h"
#include "engine/engine.h"

namespace muster::platform {

/// `path` must be absolute, and either an empty folder, or with `overwrite` a folder that contains
/// only results, or a folder that can be created. Errors: `invalid_input` if it is not; `denied`,
/// `system` if this cannot be determined.
Result<void> check_output_folder(const std::string& path, bool overwrite);

/// A file name under which several hosts wrote different contents.
struct Conflicts {
  static constexpr std::size_t names_max = 5;
  std::size_t count = 0;
  std::vector<std::string> names;  ///< The first of them: "model/weights.npz".
};

struct Merged {
  bool written = false;                    ///< `out` holds results.
  std::vector<std::string> failure_files;  ///< Absolute paths, by host.
  Conflicts conflicts{};
};

struct MergeOptions {
  bool failed = false;           ///< The job's; then there is `failure/algo-K`, too.
  bool only_if_any = false;      ///< A job without any file makes no folder.
  bool overwrite = false;        ///< An earlier job's results make way; else they are an error.
  std::optional<Owner> owner{};  ///< Everything is that user's, new folders above `out` too.
  /// Puts the job's log into a folder, which becomes `log/`; empty: no such folder.
  std::function<Result<void>(const std::string& folder)> write_log{};
};

/// Merges the hosts' results, which are consumed, under `out`. check_output_folder() accepted
/// `out`, and it is walked to as walk_given() does. It gets `model/`, `output/` (without the
/// success and failure marks) and `failure/algo-K`. Of files with equal names, that of the last
/// host, by its number, stays; the others go to `conflicts/algo-K/`, unless they are identical.
/// Links are moved as links; sockets and devices are left out. Everything is created in a hidden
/// folder and then renamed, so entries with these names are complete. Blocks. Errors: `denied`,
/// `system` with the path; then nothing of it stays in `out`.
Result<Merged> merge_results(std::vector<engine::HostResult> hosts, const std::string& out,
                             const MergeOptions& options);

}  // namespace muster::platform
