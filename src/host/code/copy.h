#pragma once

#include <string>

#include "base/result.h"

namespace muster::code {

/// Copies what is in folder `from` into `to`, which exists. Links are followed, permissions
/// (without setuid and the like) and times kept. Blocks. Errors: `invalid_input` (a fifo, socket or
/// device; a link to a folder that is being copied; `to` inside `from`), `not_found` (a dangling
/// link), `denied`, `system`; the text begins with the path. Files copied before the error stay.
/// Source: Python's shutil.copytree.
Result<void> copy_tree(const std::string& from, const std::string& to);

/// Copies file `from` into folder `to`, by its own name.
Result<void> copy_into(const std::string& from, const std::string& to);

}  // namespace muster::code
