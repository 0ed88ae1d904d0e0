#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace muster::cli {

/// Details from a job's card (platform::to_json(Cause)) other than the reason and the last lines,
/// as name and value: When, Then, Hint; fewer if less is known. Control characters in a server's
/// texts are removed. Pure.
std::vector<std::pair<std::string, std::string>> cause_fields(const Json& cause);

/// All of them as lines below the reason: "  when: …\n".
std::string cause_lines(const Json& cause);

}  // namespace muster::cli
