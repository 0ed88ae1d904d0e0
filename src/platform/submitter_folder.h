#pragma once

#include <optional>
#include <string>

#include "base/clean_tree.h"
#include "base/fd.h"
#include "base/given_path.h"
#include "base/result.h"

namespace muster::platform {

/// Walks to the folder at `path`, absolute, as walk_given() does, and checks by trying that files
/// can be put in it, or in the nearest folder above, in which it will be made. Errors begin with
/// `what`: `invalid_input`: it is no folder, or takes no files; and those of walk_given().
Result<GivenPath> check_place(const std::string& what, const std::string& path);

/// Names of what check_place() tries with, and of the folder that results are made in, begin so.
inline constexpr const char* partial_prefix = ".muster-partial-";

/// Walks to the folder at `path` and makes what is missing of it; new folders are `owner`'s, if one
/// is given. Returns the folder, open for reading. Errors: as walk_given() and make_given_folder().
Result<Fd> make_folders_of(const std::string& path, const std::optional<Owner>& owner);

}  // namespace muster::platform
