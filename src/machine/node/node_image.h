#pragma once

// Inside node/ only.

#include <string>
#include <vector>

#include "base/fd.h"
#include "job/image.h"
#include "job/wire/node_messages.h"

namespace muster::node {

/// A job's image on its node. Layers are in a folder of the node, each once for all jobs of the
/// user; missing layers are copied there (docs/protocols/node-link.md). All functions block.

/// The missing layers, counted from 0, the lowest. Errors: `denied` if other users can change the
/// folder; `protocol`, `system`.
Result<std::vector<int>> lacking_layers(const job::NodeImage& image);

/// An image that is not removed while this exists.
struct HeldImage {
  job::Image image;
  Fd lock;
};
/// Unpacks the layers that were copied as `brought`0, `brought`1, …, and stacks all layers; `image`
/// is the job's, with the submitter's layers. If all images take more than half of their disk,
/// removes the least recently used ones. Errors: as above.
Result<HeldImage> take_image(const job::NodeImage& wanted, job::Image image,
                             const std::string& brought);

/// Removes the copied layers.
void remove_brought(const job::NodeImage& image, const std::string& brought);

}  // namespace muster::node
