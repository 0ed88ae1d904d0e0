#include "cli/fit/given_line.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/terminal.h"
#include "base/yaml.h"
#include "cli/exit_code_of.h"
#include "cli/fit/places.h"
#include "command/job_file.h"
#include "command/line.h"

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

bool asks_for_help(const command::Given& given) {
  for (const command::Given::Value& value : given.values)
    if (value.flag == &command::help_flag()) return true;
  return false;
}

}  // namespace

command::Given with_absolute_paths(command::Given given, const std::string& folder) {
  given = command::with_paths_from(folder, std::move(given));
  place_script(given, folder, folder);
  return given;
}

Result<Args> with_job_file(const command::Page& page, const Args& args) {
  command::Given typed = command::given_in(page, args);
  if (typed.words.empty() || !command::is_job_file(typed.words.front()) || asks_for_help(typed))
    return args;
  const std::string given = typed.words.front();
  typed.words.erase(typed.words.begin());
  const std::string cwd = TRY(current_folder());
  const std::string path = absolute(given, cwd);
  const Result<std::string> text = read_given(path, yaml_bytes_max);
  if (!text) return fail(Errc::invalid_input, text.error().text);
  Result<command::Given> file = command::read_job_file(*text, page);
  if (!file) return file.error().in(given);
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  command::Given all = command::merged(command::with_paths_from(folder, *std::move(file)), typed);
  place_script(all, folder, cwd);
  return command::args_of(all);
}

int print_job_file(const command::Page& page, const Args& args) {
  Result<std::string> cwd = current_folder();
  const Result<std::string> file =
      cwd ? command::job_file_of(with_absolute_paths(command::given_in(page, args), *cwd), page)
          : Result<std::string>(cwd.error());
  if (!file) return tell(command::wrong_line(page, file.error().text));
  return write_all(STDOUT_FILENO, *file) ? exit_success : exit_platform;
}

}  // namespace muster::cli
