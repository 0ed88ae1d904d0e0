#include <doctest/doctest.h>

#include <set>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "host/env/env_command.h"
#include "host/env/job_files.h"
#include "job/training/python_json.h"

namespace muster::env {
namespace {

using job::PyValue;
using Names = std::set<std::string>;

/// A line of tests/data/reference_environment.jsonl as tools/reference_vectors.py wrote it, for a
/// job in the folder `base`.
std::string filled_in(const std::string& line, const std::string& base) {
  std::string text;
  std::size_t at = 0;
  while (true) {
    const std::size_t mark = line.find('@', at);
    if (mark == std::string::npos) break;
    text += line.substr(at, mark - at);
    const std::string_view rest = std::string_view(line).substr(mark);
    const std::size_t end = line.find('@', mark + 1);
    if (rest.starts_with("@BASE@")) {
      text += base;
      at = end + 1;
    } else if (rest.starts_with("@REPEAT ")) {
      const std::size_t count = std::stoul(line.substr(mark + 8));
      text += std::string(count, line[end - 1]);
      at = end + 1;
    } else {
      text += '@';
      at = mark + 1;
    }
  }
  return text + line.substr(at);
}

std::string text_of(const PyValue& row, const char* name) {
  const PyValue* value = row.find(name);
  REQUIRE(value);
  return value->text;
}

/// The folder of one job, with the machine's programs that the case brings.
struct JobFolder {
  JobFolder() : path(*make_private_folder("/tmp", "muster-reference-test-")) {}
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder() { static_cast<void>(remove_tree(path)); }

  void lay_out(const PyValue& row) const {
    REQUIRE(make_folders(path + "/input/config"));
    REQUIRE(make_folders(path + "/tools"));
    REQUIRE(make_folders(path + "/code"));
    for (const PyValue::Member& file : row.find("config")->members) {
      const PyValue* hex = file.second.find("hex");
      REQUIRE(write_file(path + "/input/config/" + file.first,
                         hex == nullptr ? file.second.text : from_hex(hex->text).value()));
    }
    for (const PyValue::Member& tool : row.find("tools")->members)
      REQUIRE(write_file(path + "/tools/" + tool.first, tool.second.text, 0755));
  }

  Env environment(const PyValue& row) const {
    Env env = {{"PATH", path + "/tools:/usr/bin:/bin"},
               {"HOME", path + "/home"},
               {"SAGEMAKER_BASE_DIR", path},
               {"MUSTER_NUM_CPUS", "1"}};
    // Not the GPUs of the machine that runs the tests.
    if (row.find("tools")->find("nvidia-smi") == nullptr) env["MUSTER_NUM_GPUS"] = "0";
    for (const PyValue::Member& variable : row.find("env")->members)
      env[variable.first] = variable.second.text;
    return env;
  }

  std::string path;
};

/// muster's answer, in the parts that the file has of the reference's.
struct Answer {
  std::string error;
  std::string properties;
  PyValue env;
  PyValue args;
  PyValue side = PyValue::new_dict();  ///< Variables beyond to_env_vars().
};

PyValue printed(const job::Training& training, std::string_view form) {
  const Result<PyValue> value = job::python_loads(environment_text(training, form));
  REQUIRE(value);
  return *value;
}

/// The names that variables had before SM_, as docs/protocols/environment.md lists them.
bool is_elder(std::string_view name) {
  return name == "SAGEMAKER_CHANNELS" || name.starts_with("SAGEMAKER_CHANNEL_") ||
         name == "SAGEMAKER_MODEL_DIR" || name == "MODEL_DIR";
}

Answer answer_of(const PyValue& row, const JobFolder& folder) {
  job::GivenConfig given;
  if (const std::string text = text_of(row, "given"); !text.empty()) {
    const Result<job::GivenConfig> read = job::given_config(text);
    REQUIRE(read);
    given = *read;
  }
  Answer answer;
  const Result<job::Training> training = read_training(folder.environment(row), given);
  if (!training) {
    answer.error = training.error().text;
    return answer;
  }
  answer.properties = trim(environment_text(*training, "--properties"));
  answer.env = printed(*training, "--to-env-vars");
  answer.args = printed(*training, "--to-cmd-args");
  for (const PyValue::Member& variable : printed(*training, "--json").members)
    if (answer.env.find(variable.first) == nullptr && !is_elder(variable.first))
      answer.side.set(variable.first, variable.second);
  return answer;
}

/// Texts, so that 1 is not 1.0, nor NaN different from NaN.
std::string text_or_none(const PyValue* value) {
  return value == nullptr ? "none" : job::python_dumps_plain(*value);
}

void compare(const std::string& part, const PyValue& theirs, const PyValue& ours, Names& found) {
  Names names;
  for (const PyValue::Member& member : theirs.members) names.insert(member.first);
  for (const PyValue::Member& member : ours.members) names.insert(member.first);
  for (const std::string& name : names)
    if (text_or_none(theirs.find(name)) != text_or_none(ours.find(name)))
      found.insert(part + "." + name);
}

std::vector<std::string> keys(const PyValue& dict) {
  std::vector<std::string> names;
  for (const PyValue::Member& member : dict.members) names.push_back(member.first);
  return names;
}

/// The parts that are not equal, by the names that a case's "differs" has.
Names differences(const PyValue& row, const Answer& ours) {
  const PyValue& reference = *row.find("reference");
  const bool they_refuse = reference.find("error") != nullptr;
  if (they_refuse || !ours.error.empty()) {
    if (they_refuse && !ours.error.empty()) return {};
    return {they_refuse ? "accepted" : "refused"};
  }
  Names found;
  const std::string text = text_of(reference, "properties");
  const Result<PyValue> theirs = job::python_loads(text);
  const Result<PyValue> mine = job::python_loads(ours.properties);
  REQUIRE(theirs);
  REQUIRE(mine);
  if (keys(*theirs) != keys(*mine)) found.insert("order of properties");
  compare("properties", *theirs, *mine, found);
  compare("env", *reference.find("env"), ours.env, found);
  // The package sets these in its own process, also when the files are given.
  if (text_of(row, "given").empty()) compare("side", *reference.find("side"), ours.side, found);
  if (text_or_none(reference.find("args")) != text_or_none(&ours.args)) found.insert("args");
  if (found.empty() && text != ours.properties) found.insert("text of properties");
  return found;
}

bool has_gpu_files() {
  for (const std::string& name : names_in("/dev").value_or({}))
    if (name.starts_with("nvidia")) return true;
  return false;
}

TEST_CASE("sm env: job directories read as sagemaker-training reads them") {
  const Result<std::string> recorded =
      read_file(MUSTER_SOURCE_DIR "/tests/data/reference_environment.jsonl");
  REQUIRE(recorded);
  int count = 0;
  for (const std::string& line : split(*recorded, '\n')) {
    if (line.empty()) continue;
    ++count;
    const JobFolder folder;
    const Result<PyValue> row = job::python_loads(filled_in(line, folder.path));
    REQUIRE(row);
    const std::string name = text_of(*row, "name");
    CAPTURE(name);
    if (row->find("tools")->find("nvidia-smi") != nullptr && has_gpu_files()) {
      MESSAGE("skipped on a machine with GPUs, which muster counts by their files");
      continue;
    }
    folder.lay_out(*row);
    const Answer ours = answer_of(*row, folder);
    CHECK_MESSAGE(ours.error.find('\n') == std::string::npos, "not one line: ", ours.error);
    Names known;
    for (const PyValue::Member& member : row->find("differs")->members) known.insert(member.first);
    const Names found = differences(*row, ours);
    const auto list = [](const Names& names) {
      return join(std::vector<std::string>(names.begin(), names.end()), ", ");
    };
    CHECK_MESSAGE(list(found) == list(known), ours.error, "\nours: ", ours.properties);
  }
  CHECK(count > 120);
}

}  // namespace
}  // namespace muster::env
