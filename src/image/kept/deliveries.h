#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "image/source.h"

namespace muster::image {

/// Notes which sources have delivered a layer, by its chain id, or all layers of an image, by its
/// manifest's digest. An empty file of a folder for each:
///
///     HEX/SOURCE
///
/// Any number of processes and threads; blocks. Every digest that is given is is_digest().
class Deliveries {
 public:
  /// `folder` exists.
  explicit Deliveries(std::string folder) : folder_(std::move(folder)) {}

  bool has(const std::string& digest, const Source& source) const;
  bool has_any(const std::string& digest) const;
  /// Error: `system`.
  Result<void> note(const std::string& digest, const Source& source);
  /// Forgets all except these, given by their hex digits, while no other process adds any.
  Result<void> keep_only(const std::set<std::string>& hexes);

 private:
  std::string folder_of(const std::string& digest) const;

  std::string folder_;
};

}  // namespace muster::image
