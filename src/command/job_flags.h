#pragma once

#include "command/page.h"

namespace muster::command {

/// What the pages of `sm fit` and `sm submit` say of job files.

inline constexpr Flag print_file_flag{
    .name = "--print-file", .value = {}, .help = "print the job as a job file (YAML) and exit"};
inline constexpr Flag encrypt_flag{"--encrypt", "",
                                   "accept EnableInterContainerTrafficEncryption: no effect on one "
                                   "machine, rejected on a cluster"};
inline constexpr std::string_view encrypt_note =
    "--encrypt does not encrypt anything: on one machine, traffic between hosts never leaves the "
    "kernel.";
inline constexpr std::string_view job_file_note =
    "A SCRIPT that ends in .yaml or .yml is a job file. Its keys are the names of flags without "
    "--, plus script and args. Flags on the command line override the job file. Relative paths in "
    "a job file start at the file's folder. --print-file prints a job file with absolute paths.";

}  // namespace muster::command
