#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/outcome/outcome.h"
#include "job/outcome/said.h"

namespace muster::job {

/// Why a program ended, according to its last lines.
struct Ending {
  /// "ValueError: bad batch", or the line that it ended with; at most 300 bytes, without terminal
  /// control characters. Empty: unknown.
  std::string error = {};
  /// The error only reports that another process, or the connection to it, is gone.
  bool blames_peer = false;
  /// The lines that report the error; `error_at` is the line that names it. All 0: none.
  std::size_t begin = 0;
  std::size_t error_at = 0;
  std::size_t end = 0;
};

/// Only an exception that ended the program counts: after it, there is only output of a program
/// that exits. An exception that was ignored, or handled and printed before the program continued,
/// does not count. Without one, the last line counts if it reports an error, or if sys.exit(text)
/// wrote it. `outcome`: the program's; null: only exceptions count, and muster's own errors. Pure.
/// Source: docs/protocols/outcome.md, "The error".
Ending ending_of(const std::vector<SaidLine>& lines, const Outcome* outcome);

/// The exception that ended a program, from the file that torch's `@record` writes
/// (TORCHELASTIC_ERROR_FILE). None if `outcome` is not a failure's exit code, or `json` is not such
/// a file. Pure. Source: torch 2.0.1, distributed/elastic/multiprocessing/errors/error_handler.py.
std::optional<Ending> ending_in_file(std::string_view json, const Outcome& outcome);

}  // namespace muster::job
