#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "container/id_map.h"
#include "container/root_view.h"

namespace muster::container {

/// Makes in the empty folder `root` what a host's root holds besides the trees of `view`: folders
/// that programs expect, links at the machine's root, what is_shown_in_etc() names. All of it is
/// the host's root's. Gives back the trees to be mounted there, in this order: the view's and those
/// of /etc. Error: `system`, naming the path.
Result<std::vector<std::string>> make_skeleton(const RootView& view, const std::string& root,
                                               const IdMap& ids);

}  // namespace muster::container
