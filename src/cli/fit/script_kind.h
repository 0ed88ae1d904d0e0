#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::cli {

/// Why a file cannot be run as a script or a program, judged by its first bytes: a notebook, an
/// archive, data, a program for another system; "is a notebook; …". None: it can. The name matters
/// only for .py and .sh files, which never count as data. Pure.
std::optional<std::string> no_script(std::string_view name, std::string_view head);

}  // namespace muster::cli
