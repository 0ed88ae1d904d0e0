#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "job/outcome/outcome.h"

namespace muster::job {

// What the last lines of a program that failed say of why. They are a stranger's text: nothing is
// taken from them but whole lines. Pure.

/// What a person is shown of a verdict's last lines, at most 20: more are cut down to the traceback
/// of its error, or to the last ones.
std::string excerpt(const Verdict& verdict);

/// A headline, and as much of the end of `words` as `characters_max` leaves, if it can from the
/// beginning of a line. UTF-8; the limit is of characters, as the API's model counts them.
std::string reason_text(std::string_view headline, std::string_view words,
                        std::size_t characters_max);

/// The text without a traceback's frames of what started the script (runpy, mpi4py.run).
std::string without_launcher_frames(std::string_view last_lines);

/// What a user can do about it, one line; empty if nothing is known.
std::string hint_for(std::string_view last_lines);

}  // namespace muster::job
