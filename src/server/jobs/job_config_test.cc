#include "server/jobs/job_config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/jobs/job_spec.h"

namespace muster::jobs {
namespace {

JobConfig config_of(const std::string& text) {
  const Result<JobConfig> config = job_config_from(*parse_json(text));
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  return *config;
}

TEST_CASE("job config: GPUs that no job gets count for no job, and the reason is given") {
  CHECK_FALSE(config_of("{}").uses_sick_gpus);
  CHECK_FALSE(config_of(R"({"sick_gpus": "avoid"})").uses_sick_gpus);
  CHECK(config_of(R"({"sick_gpus": "use"})").uses_sick_gpus);
  CHECK(job_config_from(*parse_json(R"({"sick_gpus": true})")).error().text ==
        "jobs.sick_gpus: expected \"avoid\" or \"use\"");
  api::JobRequest asked;
  asked.image = "host";
  asked.spec.instance_type = "t";
  const auto says = [&asked](int fit, const std::vector<std::string>& unfit) {
    JobConfig config = config_of(R"({"capacity": {"gpus": 4}, "images": {"host": {}},
                                     "instance_types": {"t": {"gpus": 4}}})");
    count_in_gpus(config, fit, unfit);
    const Result<void, aws::Refusal> got = check_request(asked, config);
    return got ? std::string() : got.error().message;
  };
  CHECK(says(4, {}).empty());
  CHECK(says(3, {"gpu=0 needs recovery: Reset"}) ==
        "The job can never start on this server: gpus: 4 requested, 3 available (gpu=0 needs "
        "recovery: "
        "Reset).");
  CHECK(says(0, {"a", "b", "c", "d", "e", "f"}) ==
        "The job can never start on this server: gpus: 4 requested, 0 available (a; b; c; d; and 2 "
        "more).");
  asked.spec.instance_type = "local_gpu";
  CHECK(says(0, {"gpu=0 needs recovery: Reset"}) ==
        "InstanceType local_gpu: this machine has no GPU that hosts can use: gpu=0 needs "
        "recovery: Reset");
}

}  // namespace
}  // namespace muster::jobs
