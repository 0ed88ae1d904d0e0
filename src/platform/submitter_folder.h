#pragma once

#include <optional>
#include <string>

#include "base/clean_tree.h"
#include "base/result.h"

namespace muster::platform {

/// Whether files can be put in the folder at `path`, absolute, or in the nearest folder above, in
/// which it will be made; by trying. True if it is there already. Errors begin with `what`:
/// `invalid_input`: it is no folder, or takes no files; `denied`, `system`: it cannot be seen.
Result<bool> check_place(const std::string& what, const std::string& path);

/// Names of what check_place() tries with, and of the folder that results are made in, begin so.
inline constexpr const char* partial_prefix = ".muster-partial-";

/// Makes the folder at `path` and those above it; those that are new are `owner`'s, if one is
/// given. Error: `denied`, `system`.
Result<void> make_folders_of(const std::string& path, const std::optional<Owner>& owner);

}  // namespace muster::platform
