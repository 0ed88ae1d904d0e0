#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

/// What keeps a file from being run as a script or a program, told by its first bytes: a notebook,
/// an archive, data, a program of another system; "is a notebook; …". None: nothing. Its name
/// decides only that a .py and a .sh are never data. Pure.
std::optional<std::string> no_script(std::string_view name, std::string_view head);

}  // namespace muster::cli
