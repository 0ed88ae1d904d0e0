#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/outcome.h"
#include "job/said.h"

namespace muster::job {

/// Why a program ended, as its last words tell.
struct Ending {
  /// "ValueError: bad batch", or the line that it ended with; at most 300 bytes, nothing in them
  /// that a terminal would obey. Empty: nothing tells.
  std::string error = {};
  /// The error only tells that another process, or the way to it, is gone.
  bool blames_peer = false;
  /// The lines that tell of it; `error_at` is the one that names it. All 0: none.
  std::size_t begin = 0;
  std::size_t error_at = 0;
  std::size_t end = 0;
};

/// An exception counts that ended the program: nothing stands behind it but what comes while a
/// program ends. One that was ignored, or handled and printed before the program went on, does not.
/// Without one the last line counts where it is an error's, or as sys.exit(text) leaves it.
/// `outcome`: the program's; null: only exceptions count, and muster's own errors. Pure. Source:
/// docs/protocols/outcome.md, "The error".
Ending ending_of(const std::vector<SaidLine>& lines, const Outcome* outcome);

/// The exception that a program wrote to TORCHELASTIC_ERROR_FILE as it ended by it: what torch's
/// `@record` does. None if `outcome` is no exit code of a failure, or `json` is not such a file.
/// Pure. Source: torch 2.0.1, distributed/elastic/multiprocessing/errors/error_handler.py.
std::optional<Ending> ending_in_file(std::string_view json, const Outcome& outcome);

}  // namespace muster::job
