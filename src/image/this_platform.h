#pragma once

#include "image/manifest.h"

namespace muster::image {

/// What images have to be made for to run here: uname(2)'s machine.
Platform this_platform();

}  // namespace muster::image
