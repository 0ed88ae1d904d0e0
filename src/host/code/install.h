#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::code {

/// The files in the code folder that matter for installing.
struct CodeFolder {
  bool has_setup_py = false;
  bool has_pyproject = false;  ///< pyproject.toml.
  bool has_requirements = false;
  bool has_entry_point = false;  ///< A file of the entry point's name.
};

/// True if the entry point is run as a module (python -m): setup.py is there, or pyproject.toml is
/// and the entry point is a module's name rather than a file's.
bool is_package(const CodeFolder& folder, const std::string& entry_point);

/// One run of pip.
struct Install {
  Command command;
  std::string error_class;  ///< The name of its failure in the failure file.
  std::string says;         ///< A line for the log.
};

/// The pip run that the code needs before it starts; none if it needs none. `index`, if not empty,
/// may contain a token: it is passed to pip in the environment, never in argv.
///
/// Pure: `folder` has the properties that were read. Source: sagemaker-training 5.1.4,
/// entry_point.install, modules.install(_requirements).
std::optional<Install> plan_install(const CodeFolder& folder, const std::string& entry_point,
                                    const std::string& python, const std::string& code_dir,
                                    const Env& env, const std::string& index);

}  // namespace muster::code
