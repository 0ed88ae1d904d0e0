#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clean_tree.h"
#include "base/result.h"
#include "engine/engine.h"

namespace muster::platform {

/// Error: `invalid_input` unless `path` is an empty folder, or does not exist and can be made.
Result<void> check_output_folder(const std::string& path);

struct Merged {
  bool written = false;                    ///< `out` holds results.
  std::vector<std::string> failure_files;  ///< Absolute paths, by host.
};

/// Puts the hosts' results, which it takes apart, together under `out`, which check_output_folder()
/// accepted: `model/`, `output/` (without the success and failure marks) and, if `failed`,
/// `failure/algo-K`. Of files with equal names the one of the later host stays; hosts are taken by
/// their number. Links are moved as links; sockets and devices are left out. Everything is made in
/// a hidden folder and then renamed: what stands under these names is whole. With `only_if_any` a
/// job without any file makes no folder. With an `owner` everything there is that user's, new
/// folders above `out` too. Blocks. Errors: `denied`, `system` with the path; then nothing of it
/// stays in `out`.
Result<Merged> merge_results(std::vector<engine::HostResult> hosts, const std::string& out,
                             bool failed, bool only_if_any, std::optional<Owner> owner = {});

}  // namespace muster::platform
