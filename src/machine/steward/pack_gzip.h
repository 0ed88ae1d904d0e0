#pragma once

#include "aws/s3client/archive.h"
#include "base/command.h"

namespace muster::steward {

/// Packs with igzip(1) if it is on the PATH of `env`, about ten times as fast as libdeflate; with
/// libdeflate if igzip is missing or fails.
s3client::Gzip find_gzip(const Env& env);

}  // namespace muster::steward
