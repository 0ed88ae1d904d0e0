#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/bundle/root_view.h"
#include "container/id_map.h"

namespace muster::container {

/// Makes in the empty folder `root` what a host's root holds besides what `view` shows: folders
/// that programs expect, links at the machine's root, what is_shown_in_etc() names; all of it the
/// host's root's. There are folders for all that is to be mounted. Gives back those of /etc that
/// are to be shown. Error: `system`, naming the path.
Result<std::vector<std::string>> make_skeleton(const RootView& view, const std::string& root,
                                               const IdMap& ids);

}  // namespace muster::container
