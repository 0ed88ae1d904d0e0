#pragma once

#include <memory>

#include "aws/s3client/s3_client.h"
#include "base/command.h"
#include "job/spec.h"

namespace muster::steward {

/// The variables for S3 according to `access`; unset values come from `own`, the steward's own
/// environment. Pure.
Env s3_environment(const job::S3Access& access, const Env& own);

/// A client whose warnings go to standard error (steward.log). Error: `invalid_input`.
Result<std::unique_ptr<s3client::S3Client>> open_s3(loop::Loop& loop, const job::S3Access& access,
                                                    const Env& own);

}  // namespace muster::steward
