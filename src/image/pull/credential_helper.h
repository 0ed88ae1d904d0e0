#pragma once

#include <string>

#include "base/command.h"
#include "net/loop/loop.h"

namespace muster::image {

/// What a credential helper said.
struct HelperAnswer {
  std::string text;
  bool succeeded = false;  ///< By its exit code.
};

/// Runs a program to its end: `input` to its standard input, what it writes to its standard output
/// back (64 KiB at most); what it says elsewhere is dropped, for it may hold secrets. It, and all
/// that it started in its process group, is gone when this returns or is destroyed. Errors:
/// `not_found` and others of supervise::spawn(), `timeout`, `protocol` (it says too much).
loop::Task<Result<HelperAnswer>> ask_helper(loop::Loop& loop, Command command, std::string input,
                                            TimePoint deadline);

}  // namespace muster::image
