#pragma once

#include <string>

#include "base/result.h"

namespace muster::packing {

/// Unpacks the gzip file `from`, of one member or many, to the new file `to`. Blocks. Errors:
/// `invalid_input`: no gzip data, or cut short; `system`.
Result<void> gunzip_file(const std::string& from, const std::string& to);

}  // namespace muster::packing
