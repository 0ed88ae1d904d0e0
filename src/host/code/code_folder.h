#pragma once

#include <string>

#include "base/result.h"
#include "host/code/install.h"

namespace muster::code {

/// Reads the properties of `code_dir`. Blocks. Errors: `not_found`, `denied`, `system`.
Result<CodeFolder> look_at(const std::string& code_dir, const std::string& entry_point);

/// Allows all users who may read the entry point to execute it. Does nothing if it is not a file's
/// name, or the bits are set. Blocks. Errors: `invalid_input` if it resolves to a place outside
/// `code_dir`, `denied`, `system`.
Result<void> make_executable(const std::string& code_dir, const std::string& entry_point);

}  // namespace muster::code
