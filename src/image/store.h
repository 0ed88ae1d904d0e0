#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/blobs.h"
#include "image/manifest.h"

namespace muster::image {

/// An image of which every layer is unpacked.
struct Image {
  std::string digest;  ///< The digest of its manifest.
  ImageConfig config;
  std::vector<std::string> layers;  ///< Folders to stack as an overlay, the lowest first.
};

/// Images, unpacked once each layer, in a folder that only its owner can enter (images hold setuid
/// programs).
///
///     blobs/sha256/HEX       manifests, configurations and, until they are unpacked, layers
///     layers/HEX/root/       a layer over those that its chain id names, HEX
///     layers/HEX/layer.json  what it takes on the disk
///     leases/HEX             locked by who runs the image of this manifest; its time: the last use
///     refs.json              names of images
///
/// What has its name is whole, also after a crash. Any number of processes and threads; everything
/// here blocks: call it in a thread (loop::in_thread).
class Store {
 public:
  /// Makes what is missing of `folder`. Errors: `denied`, `system`.
  static Result<Store> open(const std::string& folder);

  bool has_blob(const std::string& digest) const { return blobs_.has(digest); }
  /// See Blobs::draft().
  Result<std::optional<BlobDraft>> draft(const std::string& digest, std::uint64_t bytes_max);
  Result<std::string> read_blob(const std::string& digest) const { return blobs_.read(digest); }

 private:
  explicit Store(std::string folder);

  std::string folder_;
  Blobs blobs_;
};

}  // namespace muster::image
