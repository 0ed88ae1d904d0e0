#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "job/outcome/peer_error.h"
#include "job/outcome/said.h"

namespace muster::job {

/// A report of an exception of Python's, or of a C++ program's end by one. Line numbers are of what
/// it was found in.
struct Traceback {
  std::size_t begin = 0;  ///< The head, or else the first frame.
  std::size_t error = 0;  ///< The line that names the exception.
  std::size_t end = 0;    ///< Behind its message.
  std::string
      text;  ///< "ValueError: bad batch": the line at `error`, and lines that go on with it.
  Blame blame = Blame::own;
  /// False: it follows "Exception ignored in", "--- Logging error ---" or similar, so it ended
  /// nothing.
  bool fatal = true;
  bool late = false;       ///< Not `fatal`, and of what comes while Python ends.
  bool follows = false;    ///< Raised while the one before it was handled.
  bool caused_by = false;  ///< `follows`, by `raise ... from`.
  bool crash = false;      ///< C++'s, and a failed assert of C's.
};

/// The tracebacks in lines of one stream, in order: Python's own form, also after a prefix, and
/// rich's. `exit_code`: of the program, -1 if unknown. With a code other than 1, no exception ended
/// Python, and the lines after an error are not part of it. Pure.
std::vector<Traceback> tracebacks_of(const std::vector<SaidLine>& lines, int exit_code);

/// "ValueError: bad batch", "main.<locals>.Error", "KeyboardInterrupt".
bool names_exception(std::string_view line);
/// Lines that come while a program ends, or that say nothing of why: empty ones, bars, warnings.
bool is_noise(std::string_view line);
/// A line of a log, which begins with a time or a level.
bool is_log_record(std::string_view line);

}  // namespace muster::job
