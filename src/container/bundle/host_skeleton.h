#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/bundle/root_view.h"
#include "container/id_map.h"

namespace muster::container {

/// Creates in the empty folder `root` the parts of a host's root that `view` does not contain:
/// folders that programs expect, the links in the machine's root folder, the files of
/// is_shown_in_etc(), and a mount point for each mount. The host's root owns all of them. Returns
/// the files of /etc to show. Error: `system`, with the path.
Result<std::vector<std::string>> make_skeleton(const RootView& view, const std::string& root,
                                               const IdMap& ids);

}  // namespace muster::container
