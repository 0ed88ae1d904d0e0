#pragma once

#include <string>
#include <string_view>

namespace muster::job {

// What the last lines of a program that failed say of why. They are a stranger's text: nothing is
// taken from them but whole lines. Pure.

/// The line that names the error: "ValueError: bad batch" under a traceback of Python's, else the
/// last line in which a command of muster's says its own or python -m lacks its module. The last
/// traceback counts, but sooner one of a program's own than one that blames a peer (blames_peer()),
/// and that sooner than one that only reports another process. At most 300 bytes, nothing in them
/// that a terminal would obey; empty if no line does.
std::string error_line(std::string_view last_lines);

/// Whether the error only says that the other end of a connection went away, or that a signal came:
/// the consequence of what another process did, "RuntimeError: ... Connection closed by peer".
bool blames_peer(std::string_view last_lines);

/// What a person is shown of the last lines, at most 20: more are cut down to the traceback whose
/// error error_line() names, or to the last ones.
std::string excerpt(std::string_view last_lines);

/// The text without a traceback's frames of what started the script (runpy, mpi4py.run).
std::string without_launcher_frames(std::string_view last_lines);

/// What a user can do about it, one line; empty if nothing is known.
std::string hint_for(std::string_view last_lines);

}  // namespace muster::job
