#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

using Args = std::vector<std::string>;
using Env = std::map<std::string, std::string>;

/// A program to run: its arguments as they are (no shell ever joins them), its whole environment,
/// its folder. `argv[0]` without a slash is looked up in this `env`'s PATH.
struct Command {
  Args argv;
  Env env;
  std::string cwd;  ///< Empty: the parent's.

  bool operator==(const Command&) const = default;
};

}  // namespace muster
