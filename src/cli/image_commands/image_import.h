#pragma once

#include <string>

#include "platform/places/images.h"

namespace muster::cli {

/// Takes an image that is in no registry, with its progress on a terminal; `command` is whose lines
/// they are. Blocks.
Result<image::Imported> import_shown(const std::string& command, image::Store& store,
                                     const image::GivenImage& given, const std::string& name,
                                     const Env& env);
/// The output about the import, as a line or as JSON.
std::string imported_text(const image::Imported& imported, bool json);

/// "1 layer", "2 layers".
std::string layers_text(std::size_t count);

}  // namespace muster::cli
