#pragma once

#include "aws/s3client/archive.h"
#include "base/command.h"

namespace muster::steward {

/// Packs by igzip(1) where it is on the PATH of `env`, at about ten times libdeflate's rate; by
/// libdeflate where it is not, or fails.
s3client::Gzip find_gzip(const Env& env);

}  // namespace muster::steward
