#pragma once

#include <string>

#include "command/page.h"

namespace muster::command {

// Texts for people, of at most 80 columns where the words allow it. Pure.

/// "sm fit [FLAGS] SCRIPT [-- ARGS]": one for each form.
std::vector<std::string> synopsis(const Page& page);
/// "--hosts N", "--follow, -f": as help and man pages show a flag.
std::string shown(const Flag& flag);
/// What it does, and whether it may be given again.
std::string described(const Flag& flag);
/// The output of `sm COMMAND --help`; `more` is printed above the exit codes.
std::string help_of(const Page& page, const std::string& more = {});
/// What `sm --help` prints.
std::string overview();
/// `text` in lines of at most `columns`, the first at `column` already, the others indented by
/// `column`; each ends in a line break.
std::string wrapped(std::string_view text, std::size_t column, std::size_t columns);

}  // namespace muster::command
