#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace muster {

/// What is in a folder. Removing trees: remove_tree.h; making folders: fd.h.

/// Opens a folder inside another one for reading; does not follow links. Returns an empty Fd, with
/// errno set, on failure.
Fd open_folder(int parent, const std::string& name);

/// The names in a folder but "." and "..", sorted. Blocks. Error: as opendir(3) and readdir(3),
/// with the path.
Result<std::vector<std::string>> names_in(const std::string& path);
/// As above, for an open folder. The listing has its own position, so that of `folder` does not
/// change; errors name `path`.
Result<std::vector<std::string>> names_in(int folder, const std::string& path);

}  // namespace muster
