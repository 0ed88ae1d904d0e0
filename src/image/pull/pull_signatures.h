#pragma once

// Inside image/ only: who signed an image, asked of its registry.

#include <string>

#include "image/policy.h"
#include "image/pull/registry.h"

namespace muster::image {

/// Adds to `evidence` the signatures that the registry has of the image whose manifest has
/// `digest`, and of the indexes of `evidence`. Error: check_image()'s with all of them; Registry's;
/// `protocol`: they cannot be read.
loop::Task<Result<Evidence>> bring_signatures(Registry& registry, const Policy& policy,
                                              Reference image, std::string digest,
                                              Evidence evidence);

}  // namespace muster::image
