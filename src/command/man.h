#pragma once

#include <string>
#include <string_view>

#include "command/page.h"

namespace muster::command {

// Manual pages as roff with the macros of man(7). Pure.

/// Text that roff prints unchanged: escapes backslashes, hyphens (otherwise not the shell's '-'),
/// quotes, characters beyond ASCII, and a line's first '.' or '\''. Keeps line breaks.
std::string escaped(std::string_view text);
/// "sm-key-create"; "sm" for the name "".
std::string man_name(std::string_view name);
/// The page of a command.
std::string man_page(const Page& page);
/// The page of `sm` itself: all commands.
std::string man_overview();

}  // namespace muster::command
