#pragma once

#include <string>
#include <string_view>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"
#include "command/given.h"

namespace muster::cli {

/// A job of `sm fit` that runs again: what its record keeps of its command line, and the line of
/// the next job. Pure.

/// What a record keeps: the flags and operands without those of the job's name, its results and how
/// it is shown. `--env` has names only, because values may be secrets. `given` has absolute paths.
Args kept_line(const command::Given& given);

/// The next job.
struct Again {
  std::string name;
  command::Given given{};  ///< What is typed for it: flags of `sm fit`.
  bool resume = false;     ///< From the earlier job's checkpoints, in their place.
};
/// The line of `sm fit` for it. `old`: the earlier job's description. Errors: `invalid_input`: the
/// record has no line, a variable is not given again, there are no checkpoints to resume from.
Result<Args> line_again(const Json& old, const Again& next);

/// A flag's value in a job's record; empty: none.
std::string value_in_record(const Json& description, std::string_view flag);

/// The place of the next job's checkpoints, a folder or S3 URL: `place` with `name` for a part that
/// is the earlier job's name `old`, else next to `place`.
std::string new_place(const std::string& place, const std::string& old, const std::string& name);

/// The part of a job's name before the time that muster and SageMaker's SDKs append.
std::string stem_of_job(const std::string& name);

}  // namespace muster::cli
