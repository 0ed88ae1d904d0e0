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

/// Shows the Python packages that `sm` carries to the programs of a host with this environment, by
/// the end of PYTHONPATH. For an interpreter without packages of its own: what PYTHONPATH names
/// comes before what is installed.
void add_packages(Env& environment);

/// `path` with the interpreter's folder first, so that `python3` and what is installed beside it
/// are the ones of the job.
std::string path_with(const Interpreter& interpreter, const std::string& path);

}  // namespace muster::platform
