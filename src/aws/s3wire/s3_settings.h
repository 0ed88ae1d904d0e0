#pragma once

#include <string>
#include <string_view>

#include "aws/refusal.h"
#include "base/result.h"

namespace muster::s3wire {

/// S3's document for a bucket's setting that was never set, by the query parameter ("logging"), or
/// the error that it does not exist. Pure.
Result<std::string, aws::Refusal> setting_xml(std::string_view setting);

}  // namespace muster::s3wire
