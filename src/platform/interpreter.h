#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::platform {

/// The Python that scripts of a job run under.
struct Interpreter {
  std::string program;  ///< Absolute; never a shim: the interpreter's own word.
  std::vector<std::string>
      places;                 ///< Folders it needs (prefixes, sys.path); sorted, none in another.
  bool has_packages = false;  ///< sagemaker_training, muster's or another's, is installed for it.
  /// Versions of "python" itself and of the frameworks' modules that it has; empty: not known.
  std::map<std::string, std::string> versions{};

  bool operator==(const Interpreter&) const = default;
};

/// The program, for `python -c`, whose output interpreter_from() reads.
extern const char* const interpreter_question;

/// What the interpreter printed. Pure. Error: `invalid_input`.
Result<Interpreter> interpreter_from(std::string_view printed);

/// Adds the Python packages that `sm` carries to the end of PYTHONPATH for the programs of a host
/// with this environment. For an interpreter that does not have these packages installed:
/// PYTHONPATH takes precedence over installed packages.
void add_packages(Env& environment);

/// `path` with the interpreter's folder first, so that `python3` and the programs installed next to
/// it are those of the job.
std::string path_with(const Interpreter& interpreter, const std::string& path);

}  // namespace muster::platform
