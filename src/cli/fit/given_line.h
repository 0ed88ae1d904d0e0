#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "command/given.h"

namespace muster::cli {

/// Makes a line of `sm fit` or `sm submit` mean the same in any other folder: relative paths, the
/// script's among them, become absolute ones below `folder`. Looks on the disk whether the script
/// is in the source folder; then its path stays.
command::Given with_absolute_paths(command::Given given, const std::string& folder);

/// The line with the values of its job file, if its SCRIPT is one; any other line unchanged.
/// `page`: of `sm fit` or `sm submit`. Reads the file; values that are typed replace the file's.
/// Error: `invalid_input`, naming the file.
Result<Args> with_job_file(const command::Page& page, const Args& args);

/// Prints a line that Line::parse() accepts as a job file, with absolute paths. The exit code.
int print_job_file(const command::Page& page, const Args& args);

}  // namespace muster::cli
