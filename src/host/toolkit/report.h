#pragma once

#include <string>

#include "base/result.h"
#include "job/outcome/outcome.h"

namespace muster::toolkit {

/// Removes an earlier run's outcome files. Error: as unlink(2), with the path.
Result<void> forget_end(const std::string& base);
/// Creates `<base>/model` and `<base>/output/data`, where programs write their results.
Result<void> make_result_folders(const std::string& base);

/// Writes the job's end as files, as sagemaker-training and its guide do: on success an empty
/// `<base>/output/success` and `<base>/success`; on failure `<base>/output/failure` with `text`,
/// unless the program wrote one itself. Source: docs/protocols/outcome.md.
Result<void> report_success(const std::string& base);
Result<void> report_failure(const std::string& base, const std::string& text);

}  // namespace muster::toolkit
