#pragma once

// Inside image/ only.

#include <string>

#include "image/kept/store.h"

namespace muster::image {

/// The documents of an image, checked against each other.
struct Store::Parsed {
  Manifest manifest;
  ImageConfig config;

  /// Error: `protocol`.
  static Result<Parsed> from(const std::string& manifest_bytes, const std::string& config_bytes);
};

}  // namespace muster::image
