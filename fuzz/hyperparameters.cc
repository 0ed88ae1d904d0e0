// hyperparameters.json, as a user's job brings it, up to the variables and arguments made of it.
#include "base/text.h"
#include "fuzz.h"
#include "job/training/config_files.h"
#include "job/training/training.h"

namespace muster {

namespace {

/// What python_dumps writes, python_loads reads as the same. (It takes UTF-8 only: its callers
/// check.)
void round_trip(const std::string& text) {
  if (!is_utf8(text)) return;
  const Result<job::PyValue> value = job::python_loads(text);
  if (!value) return;
  const std::string dumped = job::python_dumps(*value);
  const Result<job::PyValue> again = job::python_loads(dumped);
  CHECK_THAT(again, "what was dumped can be loaded");
  CHECK_THAT(job::python_dumps(*again) == dumped, "a dump is stable");
  static_cast<void>(job::python_dumps_plain(*value, 2));
  static_cast<void>(job::python_str(*value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  round_trip(text);
  static_cast<void>(job::given_config(text));
  job::ConfigFiles files;
  files.hyperparameters = text;
  job::Facts facts;
  facts.host_name = "algo-1";
  const Result<job::Training> training = job::training_from(files, facts);
  if (!training) {
    CHECK_THAT(!training.error().text.empty(), "an error says something");
    CHECK_THAT(training.error().text.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  static_cast<void>(job::python_dumps(job::properties(*training)));
  static_cast<void>(job::env_text(job::to_env_vars(*training)));
  static_cast<void>(job::env_shell(job::sm_variables(*training)));
  static_cast<void>(job::env_json(job::sm_variables(*training)));
  static_cast<void>(job::to_cmd_args(*training));
  if (const Result<Args> args = job::user_args(*training); args)
    for (const std::string& arg : *args)
      CHECK_THAT(arg.find('\0') == std::string::npos, "an argument holds no NUL");
  static_cast<void>(job::processes_per_host(*training));
  static_cast<void>(job::num_processes(*training));
  static_cast<void>(job::custom_mpi_options(*training));
  return 0;
}

}  // namespace muster
