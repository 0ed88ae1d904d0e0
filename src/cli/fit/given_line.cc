#include "cli/fit/given_line.h"

#include <sys/stat.h>

#include <algorithm>

#include "cli/fit/places.h"

namespace muster::cli {
namespace {

/// A script of the source folder stays as it is; any other is below `folder`. The source folder may
/// be below `cwd`.
void place_script(command::Given& given, const std::string& folder, const std::string& cwd) {
  if (given.words.empty()) return;
  std::string& script = given.words.front();
  for (const command::Given::Value& value : given.values) {
    if (value.flag->name != "--source-dir" || value.text.empty()) continue;
    const std::string source = absolute(value.text, cwd);
    struct stat status {};
    if (value.text.starts_with("s3://") || ::stat(absolute(script, source).c_str(), &status) == 0)
      return;
  }
  script = absolute(script, folder);
}

}  // namespace

command::Given with_absolute_paths(command::Given given, const std::string& folder) {
  given = command::with_paths_from(folder, std::move(given));
  place_script(given, folder, folder);
  return given;
}

}  // namespace muster::cli
