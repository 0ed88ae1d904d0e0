#include "cli/on_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace muster::cli {

namespace {

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string on_path(const std::string& name, const Env& env) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
  const Env::const_iterator found = env.find("PATH");
  const std::string path = (found == env.end() ? "" : found->second) +
                           ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const std::string& folder : split(path, ':')) {
    std::string full = folder + "/" + name;
    if (!folder.empty() && is_program(full)) return full;
  }
  return {};
}

std::string beside_python(const std::string& python, const std::string& name, const Env& env) {
  const std::string path = python.substr(0, python.rfind('/') + 1) + name;
  return !python.empty() && is_program(path) ? path : on_path(name, env);
}

}  // namespace muster::cli
