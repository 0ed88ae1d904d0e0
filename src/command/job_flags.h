#pragma once

#include "command/page.h"

namespace muster::command {

/// What the pages of `sm fit` and `sm submit` say of job files.

inline constexpr Flag print_file_flag{
    .name = "--print-file", .value = {}, .help = "print the job as a job file (YAML) and exit"};
inline constexpr std::string_view job_file_note =
    "A SCRIPT that ends in .yaml or .yml is a job file: each flag's name without -- is a key, and "
    "script and args are keys, too. Flags on the command line replace its values, and relative "
    "paths in it start at its folder. --print-file writes one with absolute paths.";

}  // namespace muster::command
