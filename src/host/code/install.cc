#include "host/code/install.h"

#include <utility>

namespace muster::code {

bool is_package(const CodeFolder& folder, const std::string& entry_point) {
  if (entry_point.ends_with(".sh")) return false;
  if (folder.has_setup_py) return true;
  // Many projects have a pyproject.toml only for their formatter. So it counts only where the
  // reference has nothing to run: it would pass the module's name to a shell.
  return folder.has_pyproject && !entry_point.ends_with(".py") && !folder.has_entry_point;
}

std::optional<Install> plan_install(const CodeFolder& folder, const std::string& entry_point,
                                    const std::string& python, const std::string& code_dir,
                                    const Env& env, const std::string& index) {
  Args argv = {python, "-m", "pip", "install"};
  const bool package = is_package(folder, entry_point);
  const bool program = !package && entry_point.ends_with(".py");
  if (!package && !(program && folder.has_requirements)) return std::nullopt;
  if (package) argv.emplace_back(".");
  if (folder.has_requirements) argv.insert(argv.end(), {"-r", "requirements.txt"});
  Command command{.argv = std::move(argv), .env = env, .cwd = code_dir};
  if (folder.has_requirements && !index.empty()) command.env["PIP_INDEX_URL"] = index;
  return Install{
      .command = std::move(command),
      .error_class = package ? "InstallModuleError" : "InstallRequirementsError",
      .says = package ? "Installing module." : "Installing dependencies from requirements.txt"};
}

}  // namespace muster::code
