#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/command.h"
#include "job/training/training.h"

namespace muster::job {

// What the reference logs before it starts the script (logging_config.py), without secrets. Pure.

/// Replaces a value that is not shown.
constexpr const char* masked_value = "******";

/// True if a value of this name is not for logs: it holds a word such as PASSWORD, SECRET,
/// CREDENTIAL, KEY or TOKEN. A number is a password, but no key and no token: `num_key_heads` and
/// `max_tokens` are shown.
bool is_secret(std::string_view name, const PyValue& value);

/// What is about to run.
struct Invocation {
  Env variables;           ///< What the job adds to the environment.
  Args command;            ///< What the host starts.
  Args rank_command{};     ///< Where that is a launcher: what each rank runs.
  bool is_folded = false;  ///< The properties and variables are counted, not shown.
};

/// "Invoking user script", the job's properties (json.dumps, indent=4), the variables that it adds,
/// and the command. Secrets are masked by name in all of them; a masked value of six bytes or more
/// is also masked wherever else it occurs. The command of each rank follows on a separate line.
std::string invocation_text(const Training& training, const Invocation& invocation);

/// "Invoking script with the following command", `command`, and where that is a launcher what each
/// rank runs (else empty); values of flags that speak of secrets are masked.
std::string command_text(const Args& command, const Args& rank_command);

/// One record as `logging` writes it with "%(asctime)s %(name)-12s %(levelname)-8s %(message)s":
/// "2024-02-29 12:00:00,123 sagemaker-training-toolkit INFO     text", without a newline. `level`
/// is a number of Python's: 20 is INFO. The time is UTC, `unix_ms` milliseconds since 1970.
std::string log_line(int level, std::string_view text, std::int64_t unix_ms);

/// The level below which the toolkit's own lines are not written: sagemaker_container_log_level, a
/// number of Python's or, what the reference fails on, a quoted number or one of its names.
/// Error: `invalid_input` for anything else.
Result<int> log_level(const Training& training);

}  // namespace muster::job
