#include "platform/interpreter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "job/packages.h"

namespace muster::platform {
namespace {

/// `path` is absolute.
std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_in(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.compare(0, folder.size() + 1, folder + "/") == 0;
}

}  // namespace

const char* const interpreter_question =
    "import importlib.util, json, os, sys\n"
    "assert sys.version_info >= (3,)\n"
    "print(json.dumps([importlib.util.find_spec('sagemaker_training') is not None,"
    " sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix,"
    " os.path.dirname(os.path.realpath(sys.executable))] +"
    // Packages that are installed for editing lie elsewhere: *.pth files lead to them.
    " [path for path in sys.path if os.path.isabs(path) and os.path.isdir(path)]))\n";

Result<Interpreter> interpreter_from(std::string_view printed) {
  const Error wrong = fail(Errc::invalid_input, "did not answer as Python 3 does");
  const Result<Json> json = parse_json(printed);
  if (!json || !json->is_array() || json->size() < 2 || !json->front().is_boolean()) return wrong;
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < json->size(); ++i) {
    const Json& item = (*json)[i];
    if (!item.is_string() || item.get<std::string>().substr(0, 1) != "/") return wrong;
    paths.push_back(item);
  }
  Interpreter interpreter{paths.front(), {}, json->front().get<bool>()};
  paths.front() = parent_of(paths.front());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths)
    if (interpreter.places.empty() || !is_in(path, interpreter.places.back()))
      interpreter.places.push_back(path);
  return interpreter;
}

void add_packages(Env& environment) {
  std::string& path = environment["PYTHONPATH"];
  path += (path.empty() ? "" : ":") + std::string(job::packages_path);
}

std::string path_with(const Interpreter& interpreter, const std::string& path) {
  const std::string folder = parent_of(interpreter.program);
  std::string text = folder;
  for (const std::string& each : split(path, ':'))
    if (!each.empty() && each != folder) text += ":" + each;
  return text;
}

}  // namespace muster::platform
