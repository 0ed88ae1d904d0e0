#pragma once

#include <string>
#include <vector>

#include "cli/needs.h"

namespace muster::cli {

/// What only some jobs want. Pure.
std::vector<Finding> findings(const JobFacts& facts);
/// `where`: "This machine", "This cluster".
std::string findings_text(const std::vector<Finding>& findings, bool colour,
                          const std::string& where = "This machine");
std::string findings_json(const std::vector<Finding>& findings);

}  // namespace muster::cli
