#pragma once

// Inside node/ only.

#include <string>
#include <vector>

#include "base/fd.h"
#include "job/image.h"
#include "job/wire/node_messages.h"

namespace muster::node {

/// A job's image on its node: layers lie in a folder of the node's, each once for all jobs of the
/// user; what is missing is brought (docs/protocols/node-link.md). All of it blocks.

/// The layers that are not there, from 0, the lowest. Errors: `denied` where the folder is not this
/// user's alone; `protocol`, `system`.
Result<std::vector<int>> lacking_layers(const job::NodeImage& image);

/// An image that stays as long as this.
struct HeldImage {
  job::Image image;
  Fd lock;
};
/// Unpacks what has been brought as `brought`0, `brought`1, …, and stacks all; `image` is the
/// job's, with layers of the submitter's. Images used least recently go where all take more than
/// half of their disk. Errors: as above.
Result<HeldImage> take_image(const job::NodeImage& wanted, job::Image image,
                             const std::string& brought);

/// Removes what was brought.
void remove_brought(const job::NodeImage& image, const std::string& brought);

}  // namespace muster::node
