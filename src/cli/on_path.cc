#include "cli/on_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace muster::cli {

std::string on_path(const std::string& name, const Env& env) {
  const Env::const_iterator found = env.find("PATH");
  const std::string path = (found == env.end() ? "" : found->second) +
                           ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const std::string& folder : split(path, ':')) {
    std::string full = folder + "/" + name;
    struct stat status {};
    if (!folder.empty() && ::stat(full.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(full.c_str(), X_OK) == 0)
      return full;
  }
  return {};
}

}  // namespace muster::cli
