#pragma once

#include <string>

#include "base/result.h"
#include "job/outcome.h"

namespace muster::toolkit {

/// Leaves the job's end as files, as sagemaker-training and its guide do: on success an empty
/// `<base>/output/success` and `<base>/success`; on failure `<base>/output/failure` with `text`,
/// unless the program wrote one itself. Source: docs/protocols/outcome.md.
Result<void> report_success(const std::string& base);
Result<void> report_failure(const std::string& base, const std::string& text);

}  // namespace muster::toolkit
