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
    "import importlib.util, json, os, site, sys\n"
    "assert sys.version_info >= (3,)\n"
    // With -I Python leaves out packages of `pip install --user`, which hosts have: they are looked
    // for, last of all, and neither they nor their *.pth files are run.
    "user = site.getusersitepackages() if sys.prefix == sys.base_prefix else ''\n"
    "if os.path.isdir(user or ''):\n"
    "    sys.path.append(user)\n"
    "def version(name):\n"
    "    for kind in (name, name + '-cpu'):\n"
    "        try:\n"
    "            from importlib import metadata\n"  // Python 3.8.
    "            return metadata.version(kind)\n"
    "        except Exception:\n"
    "            pass\n"
    "    return ''\n"
    "names = {name: name for name in ('torch', 'tensorflow', 'mxnet', 'chainer', 'horovod',"
    " 'mpi4py', 'numpy', 'xgboost', 'transformers', 'autogluon', 'deepspeed')}\n"
    "names['sklearn'] = 'scikit-learn'\n"
    "versions = {name: version(names[name]) for name in names"
    " if importlib.util.find_spec(name) is not None}\n"
    "versions['python'] = '%d.%d.%d' % sys.version_info[:3]\n"
    "print(json.dumps([importlib.util.find_spec('sagemaker_training') is not None, versions,"
    " sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix,"
    " os.path.dirname(os.path.realpath(sys.executable))] +"
    // Packages that are installed for editing lie elsewhere: *.pth files lead to them.
    " [path for path in sys.path if os.path.isabs(path) and os.path.isdir(path)]))\n";

Result<Interpreter> interpreter_from(std::string_view printed) {
  const Error wrong = fail(Errc::invalid_input, "its output is not that of Python 3");
  const Result<Json> json = parse_json(printed);
  if (!json || !json->is_array() || json->size() < 3 || !json->front().is_boolean()) return wrong;
  if (!(*json)[1].is_object()) return wrong;
  std::map<std::string, std::string> versions;
  for (const auto& [name, version] : (*json)[1].items()) {
    if (!version.is_string()) return wrong;
    versions[name] = version.get<std::string>();
  }
  std::vector<std::string> paths;
  for (std::size_t i = 2; i < json->size(); ++i) {
    const Json& item = (*json)[i];
    if (!item.is_string() || item.get<std::string>().substr(0, 1) != "/") return wrong;
    paths.push_back(item);
  }
  Interpreter interpreter{paths.front(), {}, json->front().get<bool>(), std::move(versions)};
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
