#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "engine/programs.h"

namespace muster::platform {

/// The Python that scripts of a job run under.
struct Interpreter {
  std::string program;  ///< Absolute; never a shim: the interpreter's own word.
  std::vector<std::string>
      places;  ///< Folders it needs (prefixes, sys.path); sorted, none in another.

  bool operator==(const Interpreter&) const = default;
};

/// Asks `python` (a name for the PATH of `env`, or a path) who it is, by running it once. Errors:
/// `not_found`, `denied`; `invalid_input` when what was found is no Python 3.
loop::Task<Result<Interpreter>> find_interpreter(engine::Programs& programs, std::string python,
                                                 Env env, std::string cwd);

/// What the interpreter printed. Pure. Error: `invalid_input`.
Result<Interpreter> interpreter_from(std::string_view printed);

/// `path` with the interpreter's folder first, so that `python3` and what is installed beside it
/// are the ones of the job.
std::string path_with(const Interpreter& interpreter, const std::string& path);

}  // namespace muster::platform
