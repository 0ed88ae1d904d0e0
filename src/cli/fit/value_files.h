#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster::cli {

/// Files of --env-file and --hyperparameters: unlike the values of --env and --hyperparameter, what
/// they hold cannot be read from the command line by the machine's other users. Empty: not given.
struct ValueFiles {
  std::string environment;
  std::string hyperparameters;
};

/// Adds "NAME=VALUE" for each value in the files. A name that is already given, in `texts` too
/// (--text-hyperparameter), keeps its value. Errors: `invalid_input`, naming the flag.
Result<void> add_value_files(const ValueFiles& files, std::vector<std::string>& environment,
                             std::vector<std::string>& hyperparameters,
                             const std::vector<std::string>& texts = {});

/// The lines of an --env-file: NAME=VALUE each, to the end of the line. Empty lines and lines that
/// begin with '#' are skipped. Pure.
std::vector<std::string> env_file_lines(const std::string& text);
/// The members of a JSON object, each as --hyperparameter takes it. Pure.
Result<std::vector<std::string>> hyperparameters_in(const std::string& text);

}  // namespace muster::cli
