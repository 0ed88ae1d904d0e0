#pragma once

#include <string>

#include "base/result.h"
#include "code/install.h"

namespace muster::code {

/// Looks at `code_dir`. Blocks. Errors: `not_found`, `denied`, `system`.
Result<CodeFolder> look_at(const std::string& code_dir, const std::string& entry_point);

/// Lets everybody who may read the entry point execute it. Where it is none of a file's name, or
/// the bits are there, does nothing. Blocks. Errors: `invalid_input` if it resolves to a place
/// outside `code_dir`, `denied`, `system`.
Result<void> make_executable(const std::string& code_dir, const std::string& entry_point);

}  // namespace muster::code
