#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "command/given.h"

namespace muster::command {

/// A job file: the command line of `sm fit` or `sm submit` as YAML. Each flag's name without "--"
/// is a key; `script` and `args` are the words before and after "--". Pure.
///
/// A plain value, or a block (`|`), means what the same text after the flag means; a quoted
/// hyperparameter is text, a list or map there is JSON. Flags that take NAME=VALUE several times
/// are maps, other repeatable flags are lists, switches are true or false.

/// Whether SCRIPT is a job file.
bool is_job_file(std::string_view script);

/// The values in `text` for the command of `page`; paths stay as they are. Error: `invalid_input`
/// with the line: not YAML, beyond the limits of read_yaml(), an unknown key, a value of the wrong
/// kind.
Result<Given> read_job_file(std::string_view text, const Page& page);

/// A job file that read_job_file() reads as `given`, except for --print-file. Error:
/// `invalid_input`: a value that YAML cannot hold.
Result<std::string> job_file_of(const Given& given, const Page& page);

/// The JSON Schema of job files, for editors: keys of both commands.
std::string job_file_schema();

}  // namespace muster::command
