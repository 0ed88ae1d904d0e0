#include "server/jobs/job_config.h"

#include <doctest/doctest.h>

#include <limits>
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

/// Why job_config_from() refuses `json`.
std::string refusal_of(const Json& json) {
  const Result<JobConfig> config = job_config_from(json);
  REQUIRE_FALSE(config);
  return config.error().text;
}

TEST_CASE("job config: what a value may be is said in full") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {
      {R"({"waiting_max": 0})", "waiting_max: expected a whole number from 1 to 1000000"},
      {R"({"waiting_max": -1})", "waiting_max: expected a whole number from 1 to 1000000"},
      {R"({"waiting_max": 1.5})", "waiting_max: expected a whole number from 1 to 1000000"},
      {R"({"waiting_max": "9"})", "waiting_max: expected a whole number from 1 to 1000000"},
      {R"({"waiting_max": 1000001})", "waiting_max: expected a whole number from 1 to 1000000"},
      {R"({"priority_max": [5]})",
       "priority_max: expected an object whose keys are access key IDs"},
      {R"({"priority_max": {"AK": -1}})", "priority_max.AK: expected a whole number from 0 to 9"},
      {R"({"priority_max": {"AK": 10}})", "priority_max.AK: expected a whole number from 0 to 9"},
      {R"({"priority_max": {"AK": "5"}})", "priority_max.AK: expected a whole number from 0 to 9"},
      {R"({"priority_max": {"A": 1, "B": 2.5}})",
       "priority_max.B: expected a whole number from 0 to 9"},
      {R"({"images": {"a": "/usr/bin/python3"}})", "images.a: expected {\"python\": PATH} or {}"},
      {R"({"native_drivers": "true"})", "native_drivers: expected true or false"},
      {R"({"vpc": true})", "vpc: expected \"known\" or \"any\""},
      {R"({"pull": true})", "pull: expected \"missing\", \"always\" or \"never\""},
      {R"({"hang_after_seconds": "60"})", "hang_after_seconds: expected a number"},
      {R"({"hang_after_seconds": 9})",
       "hang_after_seconds: expected 0, or a number of seconds from 10 to 2419200"},
      {R"({"hang_after_seconds": 2419201})",
       "hang_after_seconds: expected 0, or a number of seconds from 10 to 2419200"},
      {R"({"stop_grace_seconds": 1000000001})",
       "stop_grace_seconds: expected a number from 0 to 1000000000"},
      {R"({"capacity": {"hosts": -1}})", "capacity.hosts: expected a number from 0 to 1000000000"},
      {R"({"instance_types": {"a": {"memory_gib": true}}})",
       "instance_types.a.memory_gib: expected a number"},
      {R"({"environment": {"A": "b\u0000c"}})",
       "environment.A: expected a variable name with a string value"},
      {R"({"environment": {"A=B": "c"}})",
       "environment.A=B: expected a variable name with a string value"},
      {R"({"credentials_providers": {"arn:a": {"registries": "a.lab"}}})",
       "credentials_providers.arn:a.registries: expected a list, e.g. [\"registry.lab:5000\"]"},
      {R"({"credentials_providers": {"arn:a": {"registries": ["a.lab", 1]}}})",
       "credentials_providers.arn:a.registries: expected text"},
      {R"({"credentials_providers": {"arn:a": {"logins": ""}}})",
       "credentials_providers.arn:a.logins: expected text"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(refusal_of(Json::parse(c.text)) == "jobs." + std::string(c.want));
  }
  const std::string name("A\0B", 3);
  CHECK(refusal_of({{"environment", {{name, "c"}}}}) ==
        "jobs.environment." + name + ": expected a variable name with a string value");
}

// No JSON text names these numbers.
TEST_CASE("job config: a number is finite") {
  using Limits = std::numeric_limits<double>;
  for (const double number : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    CHECK(refusal_of({{"stop_grace_seconds", number}}) ==
          "jobs.stop_grace_seconds: expected a number from 0 to 1000000000");
    CHECK(refusal_of({{"instance_types", {{"a", {{"cpus", number}}}}}}) ==
          "jobs.instance_types.a.cpus: expected a number from 0 to 1000000000");
  }
}

TEST_CASE("job config: what is set counts, and what is not has its default") {
  const JobConfig none = config_of("{}");
  CHECK(none.waiting_max == 10'000);
  CHECK_FALSE(none.native_drivers);
  CHECK_FALSE(none.any_vpc);
  CHECK(none.pull == job::Pull::missing);
  CHECK(none.priority_max_of("AK") == 9);
  CHECK(config_of(R"({"waiting_max": 1})").waiting_max == 1);
  CHECK(config_of(R"({"waiting_max": 1000000})").waiting_max == 1'000'000);
  CHECK(config_of(R"({"native_drivers": true})").native_drivers);
  CHECK_FALSE(config_of(R"({"native_drivers": false})").native_drivers);
  CHECK(config_of(R"({"vpc": "any"})").any_vpc == true);
  CHECK(config_of(R"({"vpc": "known"})").any_vpc == false);
  CHECK(config_of(R"({"pull": "always"})").pull == job::Pull::always);
  CHECK(config_of(R"({"pull": "never"})").pull == job::Pull::never);
  CHECK(config_of(R"({"network": "none"})").network == job::Network::none);
  CHECK(config_of(R"({"hang_after_seconds": 0})").hang_after == std::chrono::seconds(0));
  CHECK(config_of(R"({"hang_after_seconds": 10})").hang_after == std::chrono::seconds(10));
  CHECK(config_of(R"({"hang_after_seconds": 2419200})").hang_after ==
        std::chrono::seconds(2'419'200));
  CHECK(config_of(R"({"priority_max": {"AK": 0}})").priority_max_of("AK") == 0);
  const JobConfig sized = config_of(
      R"({"capacity": {"cpus": 1.5, "memory_gib": 0.5, "gpus": 2, "hosts": 3, "ml.m5.large": 4},
          "instance_types": {"a": {"cpus": 0, "memory_gib": 0.25, "gpus": 1},
                             "b": {"cpus": 0.01}}})");
  CHECK(sized.capacity == Amounts{{"cpu", 1500},
                                  {"memory", std::int64_t{1} << 29},
                                  {"gpu", 2},
                                  {"hosts", 3},
                                  {"ml.m5.large", 4}});
  CHECK(sized.instance("a") == JobConfig::Instance{0, std::int64_t{1} << 28, 1});
  CHECK(sized.instance("b") == JobConfig::Instance{10, 0, 0});
}

TEST_CASE("job config: AWS's types are known by their form, and those with GPUs by their family") {
  for (const char* type : {"ml.m5.large", "ml.g5.xlarge", "ml.p4d.24xlarge", "ml.c5.metal"})
    CHECK(is_aws_type(type));
  for (const char* type : {"ml.m5.2large", "ml.m5.24", "ml.m5.x", "ml..large", "m5.large", "ml.m5"})
    CHECK_FALSE(is_aws_type(type));
  CHECK(is_aws_gpu_type("ml.g5.xlarge"));
  CHECK(is_aws_gpu_type("ml.p4d.24xlarge"));
  CHECK_FALSE(is_aws_gpu_type("ml.m5.large"));
  CHECK_FALSE(is_aws_gpu_type("ml.g5.huge"));
}

TEST_CASE("job config: images that it does not name have no interpreter, except AWS's") {
  const std::string aws = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0";
  const JobConfig none = config_of(R"({"python": "/p"})");
  CHECK(none.python_of("host") == "/p");
  CHECK(none.python_of(aws) == "/p");
  CHECK_FALSE(none.python_of("team/box"));
  CHECK_FALSE(config_of(R"({"images": {"host": {}}})").python_of(aws));
}

TEST_CASE("job spec: a job's own limit for standstills takes the place of the config's") {
  const JobConfig config = config_of(R"({"hang_after_seconds": 60})");
  const auto hang_after = [&config](const char* value) {
    api::JobRequest asked;
    asked.image = "host";
    asked.spec.name = "a";
    asked.spec.instance_type = "local";
    if (value != nullptr) asked.spec.environment["MUSTER_HANG_AFTER"] = value;
    if (const Result<void, aws::Refusal> may = check_request(asked, config); !may)
      return may.error().message;
    const Result<job::Spec> spec = job_spec(asked.spec, config, {});
    return spec ? std::to_string(spec->hang_after.count()) : spec.error().text;
  };
  CHECK(hang_after(nullptr) == "60");
  CHECK(hang_after("0") == "0");
  CHECK(hang_after("10") == "10");
  CHECK(hang_after("2419200") == "2419200");
  for (const char* value : {"", "9", "-1", "2419201", "1.5", "10s", "99999999999999999999"}) {
    CAPTURE(value);
    CHECK(hang_after(value) ==
          "Environment MUSTER_HANG_AFTER: expected 0, or a number of seconds from 10 to 2419200");
  }
}

TEST_CASE("job spec: any variable that names a proxy counts, and the lower-case exceptions") {
  const auto no_proxy = [](const Env& environment, const char* endpoint = "http://10.0.0.1:7700") {
    job::Spec asked;
    asked.name = "a";
    asked.instance_type = "local";
    asked.environment = environment;
    JobPlaces places;
    places.s3.endpoint = endpoint;
    const Result<job::Spec> spec = job_spec(asked, config_of("{}"), places);
    REQUIRE(spec);
    Env got = spec->environment;
    CHECK(got["no_proxy"] == got["NO_PROXY"]);
    return got["no_proxy"];
  };
  for (const char* name :
       {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    CHECK(no_proxy({{name, "http://p:1"}}) == "10.0.0.1");
  CHECK(no_proxy({{"ftp_proxy", "http://p:1"}}).empty());
  CHECK(no_proxy({{"ALL_PROXY", "http://p:1"}, {"no_proxy", "a.lab"}}) == "a.lab,10.0.0.1");
  CHECK(no_proxy({{"ALL_PROXY", "http://p:1"}, {"NO_PROXY", "B.lab"}}) == "B.lab,10.0.0.1");
  CHECK(no_proxy({{"ALL_PROXY", "http://p:1"}, {"no_proxy", "a.lab"}, {"NO_PROXY", "B.lab"}}) ==
        "a.lab,10.0.0.1");
  CHECK(no_proxy({{"ALL_PROXY", "http://p:1"}}, "not a URL").empty());
}

TEST_CASE("job spec: local_gpu needs a GPU") {
  JobConfig config = config_of("{}");
  api::JobRequest asked;
  asked.image = "host";
  asked.spec.instance_type = "local_gpu";
  CHECK(check_request(asked, config).error().message ==
        "InstanceType local_gpu: this machine has no GPU that hosts can use");
  CHECK(config.known_types().find("local_gpu") == std::string::npos);
  count_in_gpus(config, 1);
  CHECK(check_request(asked, config));
  CHECK(config.known_types().find("local_gpu") != std::string::npos);
  asked.spec.instance_type = "local";
  count_in_gpus(config, 0);
  CHECK(check_request(asked, config));
}

TEST_CASE("job spec: what the engine would refuse is refused") {
  job::Spec asked;
  asked.name = "not a name";
  asked.instance_type = "local";
  const Result<job::Spec> spec = job_spec(asked, config_of("{}"), {});
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == Errc::invalid_input);
}

TEST_CASE("job spec: a key gets no right where the job names no place, and none by a bad one") {
  job::Spec spec;
  spec.name = "a";
  spec.input = {{.name = "code"}};
  const Result<access::KeyPolicy> results = results_policy_of(spec);
  REQUIRE(results);
  CHECK(results->limited);
  CHECK(results->may_fill_disk);
  CHECK(results->writes.empty());
  CHECK(policy_of(spec)->limited);
  CHECK(policy_of(spec)->reads.empty());
  CHECK(policy_of(spec)->writes.empty());
  const std::string why = "s3://: no bucket name; expected s3://bucket/key";
  spec.input[0].s3.url = "s3://";
  CHECK(policy_of(spec).error().text == why);
  spec.input.clear();
  spec.hyperparameters["sagemaker_submit_directory"] = "\"s3://\"";
  CHECK(policy_of(spec).error().text == why);
  spec.hyperparameters = {{"model_dir", "s3://"}};
  CHECK(policy_of(spec).error().text == why);
  spec.hyperparameters = {{"model_dir", "/opt/ml/model"}};
  CHECK(policy_of(spec)->writes.empty());
  spec.s3_output = "s3://b d/out";
  CHECK(results_policy_of(spec).error().text.ends_with(
      ": a bucket name can contain only letters, digits, '-', '.' and '_'"));
}

}  // namespace
}  // namespace muster::jobs
