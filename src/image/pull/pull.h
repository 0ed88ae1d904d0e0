#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "image/kept/store.h"
#include "image/manifest.h"
#include "image/policy.h"
#include "image/pull/registry.h"

namespace muster::image {

/// How far a pull is.
struct PullProgress {
  std::uint64_t bytes = 0;      ///< What came of the layers.
  std::uint64_t bytes_all = 0;  ///< What has to come: of layers that are not there.
  std::size_t layers = 0;       ///< Unpacked, or there before.
  std::size_t layers_all = 0;
};

struct PullOptions {
  Platform platform;      ///< Chosen where the name means images of several.
  int blobs_at_once = 4;  ///< >= 1.
  LayerLimits limits{};   ///< For unpacking.
  /// What it refuses is not pulled: nothing but manifests and signatures is asked for. None: all is
  /// taken.
  std::shared_ptr<const Policy> policy{};
  /// Called on the loop at each piece; must be quick.
  std::function<void(const PullProgress&)> on_progress{};
};

struct Pulled {
  Image image;
  PullProgress progress;                ///< At the end.
  std::vector<std::string> left_out{};  ///< Lines on what of the layers was left out.
};

/// Brings an image from its registry into the store, under the whole name of `image`. Layers come
/// side by side, but for those that came from this source before (image/source.h), and each is
/// unpacked as soon as it and those below it are there. What came whole of a pull that failed stays
/// for the next one, up to the next prune. Errors: Registry's and Store::add()'s; `not_found`: not
/// for that platform; check_image()'s.
loop::Task<Result<Pulled>> pull(loop::Loop& loop, Registry& registry, std::shared_ptr<Store> store,
                                Reference image, PullOptions options);

}  // namespace muster::image
