#pragma once

#include <optional>
#include <string>

namespace muster::cli {

/// A command line: options, or what to print and to exit with.
template <class Options>
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
  std::string text;  ///< For standard output if exit_code is 0, else for standard error.
};

}  // namespace muster::cli
