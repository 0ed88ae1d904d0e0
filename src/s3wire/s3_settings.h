#pragma once

#include <string>
#include <string_view>

#include "aws/refusal.h"
#include "base/result.h"

namespace muster::s3wire {

/// The document that S3 gives of a setting of a bucket that was never set, by the parameter that
/// asks for it ("logging"), or the refusal that there is none. Pure.
Result<std::string, aws::Refusal> setting_xml(std::string_view setting);

}  // namespace muster::s3wire
