#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::packing {

/// What an archive may hold. Holes of sparse files count as if they were written.
struct UnpackLimits {
  std::uint64_t bytes_max = 4ull << 30;  ///< Or `ratio_max` times the archive, whichever is more:
  unsigned ratio_max = 16;               ///< code packs by 3 to 10, a gzip bomb by up to 1032.
  std::uint64_t entries_max = 1'000'000;
  std::size_t depth_max = 128;  ///< Folders in folders.
};
/// MUSTER_CODE_BYTES_MAX of `env`, if set, is `bytes_max` (and no ratio). Error: `invalid_input`.
Result<UnpackLimits> limits_from(const Env& env);

struct UnpackReport {
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;        ///< Sum of the files' sizes, holes included.
  std::uint64_t refused = 0;      ///< Members left out, or put elsewhere than they asked for.
  std::vector<std::string> said;  ///< A line for each of those, at most `said_max`.
  static constexpr std::size_t said_max = 50;
};

/// Unpacks a tar archive (plain or gzip) into `folder`, which exists and is empty.
///
/// Nothing outside `folder` is touched, whatever the archive says: names are made to fit, links
/// that lead outside and special files are left out, and each is said in the report. All or
/// nothing: on an error the folder is empty again. Owners and setuid bits are not restored. Needs
/// no locale.
///
/// Blocks. `name` begins the error's text ("sourcedir.tar.gz: ..."). Errors: `invalid_input` (no
/// archive, damaged, cut short, beyond a limit, `folder` not empty), `not_found`, `denied`,
/// `system`. Source: docs/decisions/0009-archives.md.
Result<UnpackReport> unpack(const std::string& archive, const std::string& folder,
                            const UnpackLimits& limits, const std::string& name);

}  // namespace muster::packing
