#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace muster {

/// What is in a folder. Removing trees: remove_tree.h; making folders: fd.h.

/// A folder by its name in another one, for reading; links are not followed. Empty, with errno, if
/// it cannot be had.
Fd open_folder(int parent, const std::string& name);

/// The names in a folder but "." and "..", sorted. Blocks. Error: as opendir(3) and readdir(3),
/// with the path.
Result<std::vector<std::string>> names_in(const std::string& path);
/// As above, of an open folder, whose place in a listing of its own does not move; `path` is what
/// errors name.
Result<std::vector<std::string>> names_in(int folder, const std::string& path);

}  // namespace muster
