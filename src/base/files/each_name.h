#pragma once

#include <functional>
#include <string>

#include "base/fd.h"

namespace muster {

/// Hands on each name in the open folder but "." and "..", in the file system's order, until `take`
/// says false: memory does not grow with the folder. `path` is what errors name. Blocks. Error: as
/// opendir(3) and readdir(3); also if `folder` is empty, by errno.
Result<void> each_name(Fd folder, const std::string& path,
                       const std::function<bool(const std::string& name)>& take);

}  // namespace muster
