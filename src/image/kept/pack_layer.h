#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::image {

/// Layers of a store, for another machine's store. Blocks.

/// An image's own documents.
struct Documents {
  std::string manifest;
  std::string config;
};
/// Documents of the image that a lease of a store's is for, by the manifest's digest. Errors:
/// Store::open()'s; `not_found`, `protocol`.
Result<Documents> documents_of(const std::string& lease, const std::string& digest);

/// Makes the tar `to`, mode 0600, of an unpacked layer: what unpack_layer() makes the same folder
/// of. Its bytes, and so its digest, are others than those that the layer came as. How many bytes.
/// Error: `system`, with the path.
Result<std::uint64_t> pack_layer(const std::string& root, const std::string& to);

}  // namespace muster::image
