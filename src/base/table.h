#pragma once

#include <string>
#include <vector>

namespace muster {

using TableRow = std::vector<std::string>;

/// Rows of equal length, at least one, in columns as wide as they need, each line ended. Pure.
std::string table_text(const std::vector<TableRow>& rows);

}  // namespace muster
