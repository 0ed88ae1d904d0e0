#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace muster::cli {

/// What a job's card (platform::to_json(Cause)) says beside the reason and the last lines, as name
/// and value: When, Then, Hint; less where less is known. A server's words, so without control
/// characters. Pure.
std::vector<std::pair<std::string, std::string>> cause_fields(const Json& cause);

/// All of them as lines below the reason: "  when: …\n".
std::string cause_lines(const Json& cause);

}  // namespace muster::cli
