#pragma once

#include <string>
#include <string_view>

namespace muster::job {

// What the last lines of a program that failed say of why. They are a stranger's text: nothing is
// taken from them but whole lines. Pure.

/// The line that names the error: "ValueError: bad batch" under a traceback of Python's, else the
/// last line in which a command of muster's says its own. The last traceback counts, but one that
/// only reports another process. At most 300 bytes, nothing in them
/// that a terminal would obey; empty if no line does.
std::string error_line(std::string_view last_lines);

/// The text without a traceback's frames of what started the script (runpy, mpi4py.run).
std::string without_launcher_frames(std::string_view last_lines);

/// What a user can do about it, one line; empty if nothing is known.
std::string hint_for(std::string_view last_lines);

}  // namespace muster::job
