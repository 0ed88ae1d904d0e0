#include "host/code/code_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/fd.h"

namespace muster::code {
namespace {

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (!real) return fail_errno("cannot open " + path);
  return std::string(real.get());
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

}  // namespace

Result<CodeFolder> look_at(const std::string& code_dir, const std::string& entry_point) {
  const Fd folder(::open(code_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno("cannot open " + code_dir);
  return CodeFolder{.has_setup_py = exists(code_dir + "/setup.py"),
                    .has_pyproject = exists(code_dir + "/pyproject.toml"),
                    .has_requirements = exists(code_dir + "/requirements.txt"),
                    .has_entry_point = exists(code_dir + "/" + entry_point)};
}

Result<void> make_executable(const std::string& code_dir, const std::string& entry_point) {
  const std::string folder = TRY(real_path(code_dir));
  Result<std::string> target = real_path(code_dir + "/" + entry_point);
  if (!target && target.error().code == Errc::not_found) return {};  // Reported when it is started.
  if (!target) return target.error();
  if (!target->starts_with(folder + "/"))
    return fail(Errc::invalid_input,
                "sagemaker_program '" + entry_point + "' leads outside the code folder");
  struct stat status {};
  if (::stat(target->c_str(), &status) != 0) return fail_errno(*target);
  const mode_t mode = status.st_mode & 07777;
  const mode_t wanted = mode | 0100 | ((mode & 0444) >> 2);
  if (!S_ISREG(status.st_mode) || mode == wanted) return {};
  const bool changed = ::chmod(target->c_str(), wanted) == 0;
  // If the folder is read-only, starting the entry point shows whether it can be executed.
  if (!changed && errno != EROFS && errno != EPERM) return fail_errno(*target);
  return {};
}

}  // namespace muster::code
