#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/files/clean_tree.h"
#include "base/files/given_path.h"
#include "base/result.h"

namespace muster::platform {

/// Walks to the folder at `path` (absolute) as walk_given() does, and tries whether files can be
/// created in it, or in the nearest existing parent, where it will be created. Errors start with
/// `what`: `invalid_input`: not a folder, or not writable; and those of walk_given().
Result<GivenPath> check_place(const std::string& what, const std::string& path);

/// Names of what check_place() tries with, and of the folder that results are made in, begin so.
inline constexpr const char* partial_prefix = ".muster-partial-";

/// Walks to the folder at `path` and makes what is missing of it; new folders are `owner`'s, if one
/// is given. Returns the folder, open for reading. Errors: as walk_given() and make_given_folder().
Result<Fd> make_folders_of(const std::string& path, const std::optional<Owner>& owner);

}  // namespace muster::platform
