// resourceconfig.json and, behind the first NUL byte, inputdataconfig.json.
#include <algorithm>
#include <optional>

#include "fuzz.h"
#include "job/training/training.h"

namespace muster {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  job::ConfigFiles files;
  files.resource_config = text.substr(0, cut);
  if (cut != std::string::npos) files.input_data_config = text.substr(cut + 1);
  job::Facts facts;
  facts.host_name = "algo-1";
  const Result<job::Training> training = job::training_from(files, facts);
  if (!training) {
    CHECK_THAT(!training.error().text.empty(), "an error says something");
    CHECK_THAT(training.error().text.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const std::vector<std::string>& hosts = training->hosts;
  CHECK_THAT(std::ranges::find(hosts, training->current_host) != hosts.end(),
             "this host is one of the hosts");
  CHECK_THAT(std::ranges::find(hosts, training->leader) != hosts.end(),
             "the leader is one of the hosts");
  static_cast<void>(job::python_dumps(job::properties(*training)));
  static_cast<void>(job::env_text(job::sm_variables(*training)));
  return 0;
}

}  // namespace muster
