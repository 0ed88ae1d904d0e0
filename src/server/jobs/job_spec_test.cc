#include "server/jobs/job_spec.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs {
namespace {

Json request() {
  return Json::parse(R"({
    "TrainingJobName": "demo",
    "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::000000000000:role/r",
    "HyperParameters": {"sagemaker_submit_directory": "\"s3://b/demo/source/sourcedir.tar.gz\"",
                        "model_dir": "\"s3://b/demo/model\"", "lr": "0.1"},
    "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {
        "S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}],
    "OutputDataConfig": {"S3OutputPath": "s3://b/"},
    "CheckpointConfig": {"S3Uri": "s3://b/checkpoints"},
    "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 3, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 600}
  })");
}

job::Spec spec_of(const Json& input) {
  const Result<api::JobRequest, aws::Refusal> read = api::job_request(input);
  const std::string why = read ? "" : read.error().message;
  CAPTURE(why);
  REQUIRE(read);
  return read->spec;
}

/// Whether a server with this config takes the job.
Result<void, aws::Refusal> taken(const Json& input, const JobConfig& config) {
  return check_request(TRY(api::job_request(input)), config);
}

JobConfig config_of(const char* text) {
  Result<JobConfig> config = job_config_from(Json::parse(text));
  REQUIRE(config);
  return *std::move(config);
}

TEST_CASE("job spec: the engine gets a job with the server's places") {
  const JobConfig config =
      config_of(R"({"instance_types": {"ml.*": {"cpus": 2, "memory_gib": 4}}})");
  JobPlaces places;
  places.python = "/usr/bin/python3";
  places.path = "/usr/bin";
  places.s3.endpoint = "http://127.0.0.1:7700";
  places.environment = {{"AWS_REGION", "eu-1"}};
  places.hidden = {"/data"};
  const Result<job::Spec> spec = job_spec(spec_of(request()), config, places);
  REQUIRE(spec);
  CHECK(!spec->environment.contains("PYTHONPATH"));
  places.packages = true;
  CHECK(job_spec(spec_of(request()), config, places)->environment.at("PYTHONPATH") ==
        "/run/muster/python.zip");
  CHECK(spec->name == "demo");
  CHECK(spec->instance_count == 3);
  CHECK(spec->instance_type == "ml.c5.xlarge");
  CHECK(spec->memory_bytes == std::int64_t{4} << 30);
  CHECK(spec->cpu_millis == 2000);
  CHECK(spec->run_time_max == std::chrono::seconds(600));
  CHECK(spec->grace == std::chrono::seconds(120));
  CHECK(spec->environment.at("AWS_REGION") == "eu-1");
  CHECK(spec->hidden == std::vector<std::string>{"/data"});
  REQUIRE(spec->input.size() == 1);
  CHECK(spec->input[0].s3.url == "s3://b/train");
}

TEST_CASE("job spec: the config's variables are every job's, unless it or the server has others") {
  const JobConfig config = config_of(
      R"({"environment": {"HTTP_PROXY": "http://proxy:3128", "AWS_REGION": "x", "LEVEL": "y"}})");
  JobPlaces places;
  places.environment = {{"AWS_REGION", "eu-1"}};
  job::Spec asked = spec_of(request());
  asked.environment["LEVEL"] = "debug";
  const Result<job::Spec> spec = job_spec(asked, config, places);
  REQUIRE(spec);
  CHECK(spec->pip_conf.empty());
  CHECK(job_spec(asked, config_of(R"({"pip_conf": "/etc/mirror.conf"})"), places)->pip_conf ==
        "/etc/mirror.conf");
  CHECK(spec->environment.at("HTTP_PROXY") == "http://proxy:3128");
  CHECK(spec->environment.at("AWS_REGION") == "eu-1");
  CHECK(spec->environment.at("LEVEL") == "debug");
}

TEST_CASE("job spec: a proxy does not stand between a job and its S3") {
  const auto no_proxy = [](const char* config, const char* endpoint, const char* name) {
    JobPlaces places;
    places.s3.endpoint = endpoint;
    const Result<job::Spec> spec = job_spec(spec_of(request()), config_of(config), places);
    REQUIRE(spec);
    const Env::const_iterator found = spec->environment.find(name);
    return found == spec->environment.end() ? "none" : found->second;
  };
  const char* const here = "http://127.0.0.1:7700";
  const char* const proxied = R"({"environment": {"https_proxy": "http://p:3128"}})";
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    CHECK(no_proxy(R"({"environment": {"LEVEL": "1"}})", here, name) == "none");
    CHECK(no_proxy(proxied, "", name) == "none");
    CHECK(no_proxy(proxied, here, name) == "127.0.0.1");
    CHECK(no_proxy(proxied, "https://s3.lab:9000", name) == "s3.lab");
    CHECK(no_proxy(R"({"environment": {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.lab,b"}})", here,
                   name) == "a.lab,b,127.0.0.1");
  }
}

// Whatever a request calls its members: what a root process runs is set by the server alone.
TEST_CASE("job spec: a request sets nothing of muster's own part") {
  const JobConfig config = config_of("{}");
  JobPlaces places;
  places.python = "/usr/bin/python3";
  places.path = "/usr/bin";
  places.hidden = {"/data"};
  places.s3 = {.endpoint = "http://127.0.0.1:7700",
               .region = "eu-1",
               .credentials_file = "/data/keys/demo",
               .ca_file = "/ca"};
  const Json honest = to_json(*job_spec(spec_of(request()), config, places));
  const char* const forged[] = {
      R"({"Muster": {"SourceFolder": "/etc"}})",
      R"({"Muster": {"OutputFolder": "/etc/cron.d"}})",
      R"({"Muster": {"ReadOnlyBinds": ["/root"]}})",
      R"({"Muster": {"Hidden": []}})",
      R"({"Muster": {"Python": "/tmp/python"}})",
      R"({"Muster": {"Path": "/tmp"}})",
      R"({"Muster": {"S3": {"Endpoint": "http://evil", "CredentialsFile": "/data/keys/other"}}})",
      R"({"Muster": {"S3": {"CaFile": "/etc/shadow"}}})",
      R"({"Muster": {"MemoryBytes": 9007199254740991, "ShmBytes": 9007199254740991}})",
      R"({"Muster": {"GraceMs": 0, "GroupMemoryBytes": [1]}})",
      R"({"Muster": {"NoSuchMember": 1}})",
      R"({"Muster": 7})",
      R"({"muster": {"SourceFolder": "/etc"}, "SourceFolder": "/etc", "OutputFolder": "/etc"})",
      R"({"spec": {"Muster": {"SourceFolder": "/etc"}}, "host_folder": "/etc", "key_file": "/k"})",
      R"({"ResourceConfig": {"Muster": {"MemoryBytes": 8388608}, "MemoryBytes": 8388608}})",
      R"({"AlgorithmSpecification": {"Muster": {"Python": "/tmp/python"}}})",
      R"({"OutputDataConfig": {"Folder": "/etc", "OutputFolder": "/etc"}})",
      R"({"CheckpointConfig": {"Folder": "/etc"}})",
      R"({"InputDataConfig": [{"ChannelName": "train", "Folder": "/etc", "DataSource": {
          "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}]})",
      R"({"InputDataConfig": [{"ChannelName": "train", "Muster": {"Folder": "/etc"},
          "DataSource": {"Folder": "/etc", "S3DataSource": {"S3DataType": "S3Prefix",
          "S3Uri": "s3://b/train", "Folder": "/etc"}}}]})",
  };
  for (const char* patch : forged) {
    CAPTURE(patch);
    Json asked = request();
    asked.merge_patch(Json::parse(patch));
    const Result<job::Spec> spec = job_spec(spec_of(asked), config, places);
    REQUIRE(spec);
    CHECK(to_json(*spec) == honest);
  }
  Json folder = request();
  folder["InputDataConfig"] = Json::parse(R"([{"ChannelName": "train", "Folder": "/etc"}])");
  CHECK(taken(folder, config).error().message.find("DataSource") != std::string::npos);
  CHECK(job::spec_asked_for(folder).error().text.find("DataSource") != std::string::npos);
}

TEST_CASE("job spec: unavailable resources are named") {
  struct {
    const char* name;
    const char* config;
    const char* patch;  ///< JSON merge patch of the request.
    const char* want;   ///< A part of the message; empty: the job is taken.
  } const cases[] = {
      {"any type and host", "{}", "{}", ""},
      {"AWS's image", "{}",
       R"({"AlgorithmSpecification": {"TrainingImage":
           "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0-cpu-py310"}})",
       ""},
      {"another image", "{}", R"({"AlgorithmSpecification": {"TrainingImage": "mine:1"}})",
       "TrainingImage mine:1"},
      {"somebody's own image in ECR", "{}",
       R"({"AlgorithmSpecification": {"TrainingImage":
           "123456789012.dkr.ecr.us-east-1.amazonaws.com/my-container:1"}})",
       "is not an image of this server"},
      {"AWS's image beside a list without it", R"({"images": {"host": {}}})",
       R"({"AlgorithmSpecification": {"TrainingImage":
           "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0-cpu-py310"}})",
       "`jobs.images` of its config"},
      {"no image", "{}", R"({"AlgorithmSpecification": {"TrainingImage": null}})",
       "AlgorithmName is not supported"},
      {"an unknown type", R"({"instance_types": {"ml.small": {}}})",
       R"({"ResourceConfig": {"InstanceType": "ml.huge"}})",
       "InstanceType ml.huge: unknown instance type; this server supports local, ml.small and "
       "AWS's types; "},
      {"the type that sm submit asks for, which the config does not name",
       R"({"instance_types": {"ml.small": {}}})",
       R"({"ResourceConfig": {"InstanceType": "local"}})", ""},
      {"a type of AWS's that the config does not name", R"({"instance_types": {"local": {}}})",
       "{}", ""},
      {"Pipe", "{}", R"({"AlgorithmSpecification": {"TrainingInputMode": "Pipe"}})", "Pipe"},
      {"encrypted", "{}", R"({"EnableInterContainerTrafficEncryption": true})", ""},
      {"not encrypted", "{}", R"({"EnableInterContainerTrafficEncryption": false})", ""},
      {"no resources", "{}", R"({"ResourceConfig": null})", "ResourceConfig: expected"},
      {"a file system", "{}",
       R"({"InputDataConfig": [{"ChannelName": "a",
           "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-12345678"}}}]})",
       "InputDataConfig[0].DataSource"},
      {"more hosts than there will ever be", R"({"capacity": {"ml.c5.xlarge": 2}})", "{}",
       "can never start"},
      {"as many as there are", R"({"capacity": {"ml.c5.xlarge": 3}})", "{}", ""},
      {"a size that the machine will never have",
       R"({"instance_types": {"ml.*": {"memory_gib": 16}}, "capacity": {"memory_gib": 40}})", "{}",
       "memory_gib: 48 requested, 40 available"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Json asked = request();
    asked.merge_patch(Json::parse(c.patch));
    const Result<void, aws::Refusal> got = taken(asked, config_of(c.config));
    if (std::string_view(c.want).empty()) {
      CHECK(got);
    } else {
      REQUIRE_FALSE(got);
      CHECK(got.error().message.find(c.want) != std::string::npos);
    }
  }
}

TEST_CASE("job spec: hosts need what their type has") {
  const JobConfig config =
      config_of(R"({"instance_types": {"ml.c5.xlarge": {"cpus": 0.5, "gpus": 1}}})");
  const Amounts needs = needs_of(spec_of(request()), config);
  CHECK(needs.at("cpu") == 1500);
  CHECK(needs.at("gpu") == 3);
  CHECK(needs.at("ml.c5.xlarge") == 3);
}

TEST_CASE("job spec: without a capacity a job larger than the machine runs, alone") {
  const JobConfig config = *job_config_from(Json::object(), 1);
  CHECK(config.capacity == Amounts{{"hosts", 2}});
  CHECK(taken(request(), config));
  CHECK(needs_of(spec_of(request()), config).at("hosts") == 2);
  Json small = request();
  small["ResourceConfig"]["InstanceCount"] = 1;
  CHECK(needs_of(spec_of(small), config).at("hosts") == 1);
  const JobConfig named = *job_config_from(Json{{"capacity", {{"hosts", 2}}}}, 1);
  CHECK(taken(request(), named).error().message.find("hosts: 3 requested, 2 available") !=
        std::string::npos);
  CHECK(job_config_from(Json{{"capacity", Json::object()}}, 1)->capacity.empty());
}

TEST_CASE("job spec: groups have their own types, limits and needs") {
  const JobConfig config = config_of(
      R"({"instance_types": {"ml.a": {"memory_gib": 1, "cpus": 1}, "ml.b": {"gpus": 2}},
          "capacity": {"ml.b": 2}})");
  Json asked = request();
  asked["ResourceConfig"] = Json::parse(R"({"InstanceGroups": [
      {"InstanceGroupName": "data", "InstanceType": "ml.a", "InstanceCount": 1},
      {"InstanceGroupName": "train", "InstanceType": "ml.b", "InstanceCount": 2}]})");
  CHECK(taken(asked, config));
  const Result<job::Spec> spec = job_spec(spec_of(asked), config, {});
  REQUIRE(spec);
  CHECK(spec->instance_count == 3);
  CHECK(spec->groups ==
        std::vector<job::HostGroup>{{"data", "ml.a", 1, std::int64_t{1} << 30, 0, 1000},
                                    {"train", "ml.b", 2, 0, 2}});
  const Amounts needs = needs_of(spec_of(asked), config);
  CHECK(needs.at("cpu") == 1000);
  CHECK(needs.at("gpu") == 4);
  CHECK(needs.at("ml.a") == 1);
  CHECK(needs.at("ml.b") == 2);
  asked["ResourceConfig"]["InstanceGroups"][1]["InstanceCount"] = 3;
  CHECK(taken(asked, config).error().message.find("ml.b: 3 requested, 2 available") !=
        std::string::npos);
}

TEST_CASE("job spec: a job's key reaches its inputs, outputs and checkpoints") {
  using access::Extent;
  const Result<access::KeyPolicy> policy = policy_of(spec_of(request()));
  REQUIRE(policy);
  CHECK(policy->limited);
  const std::vector<access::Place> writes = {{"b", "demo/", Extent::folder},
                                             {"b", "checkpoints", Extent::object},
                                             {"b", "checkpoints/", Extent::folder},
                                             {"b", "demo/model", Extent::object},
                                             {"b", "demo/model/", Extent::folder}};
  CHECK(policy->writes == writes);
  std::vector<access::Place> reads = {{"b", "train", Extent::start},
                                      {"b", "demo/source/sourcedir.tar.gz", Extent::object}};
  reads.insert(reads.end(), writes.begin(), writes.end());
  CHECK(policy->reads == reads);
}

TEST_CASE("job spec: a remote function's key reaches its function and results") {
  using access::Extent;
  Json asked = request();
  asked["HyperParameters"].erase("model_dir");
  asked.erase("OutputDataConfig");
  asked.erase("CheckpointConfig");
  asked["AlgorithmSpecification"]["ContainerEntrypoint"] = {
      "/bin/bash", "/opt/ml/input/data/sagemaker_remote_function_bootstrap/job_driver.sh"};
  asked["AlgorithmSpecification"]["ContainerArguments"] = {"--s3_base_uri", "s3://b/root/f-1"};
  using Places = std::vector<access::Place>;
  CHECK(policy_of(spec_of(asked))->writes ==
        Places{{"b", "root/f-1", Extent::object}, {"b", "root/f-1/", Extent::folder}});
  asked["AlgorithmSpecification"]["ContainerArguments"][1] = "s3://b";
  CHECK(policy_of(spec_of(asked))->writes.empty());
}

TEST_CASE("job spec: no URL becomes a right to more than it names") {
  using access::Extent;
  const auto writes = [](const char* checkpoints) {
    Json asked = request();
    asked["HyperParameters"].erase("model_dir");
    asked.erase("OutputDataConfig");
    asked["CheckpointConfig"]["S3Uri"] = checkpoints;
    const Result<access::KeyPolicy> policy = policy_of(spec_of(asked));
    REQUIRE(policy);
    return policy->writes;
  };
  using Places = std::vector<access::Place>;
  CHECK(writes("s3://b/ck/run1/") == Places{{"b", "ck/run1/", Extent::folder}});
  CHECK(writes("s3://b/ck//") == Places{{"b", "ck//", Extent::folder}});
  CHECK(writes("s3://b//") == Places{{"b", "/", Extent::folder}});
  // Bytes of a key, and no way up.
  CHECK(writes("s3://b/ck/..") ==
        Places{{"b", "ck/..", Extent::object}, {"b", "ck/../", Extent::folder}});
  CHECK(writes("s3://b/ck%2F") ==
        Places{{"b", "ck%2F", Extent::object}, {"b", "ck%2F/", Extent::folder}});
  CHECK(writes("s3://b").empty());
  CHECK(writes("s3://b/").empty());
  Json web = request();
  web["CheckpointConfig"]["S3Uri"] = "https://b/x";
  CHECK(taken(web, config_of("{}")).error().message.find("CheckpointConfig.S3Uri") !=
        std::string::npos);
  Json asked = request();
  asked["InputDataConfig"] = Json::parse(R"([
      {"ChannelName": "m", "DataSource": {"S3DataSource": {
          "S3DataType": "ManifestFile", "S3Uri": "s3://b/list"}}},
      {"ChannelName": "f", "DataSource": {"S3DataSource": {
          "S3DataType": "S3Prefix", "S3Uri": "s3://b/folder/"}}},
      {"ChannelName": "all", "DataSource": {"S3DataSource": {
          "S3DataType": "S3Prefix", "S3Uri": "s3://c"}}}])");
  const Result<access::KeyPolicy> policy = policy_of(spec_of(asked));
  REQUIRE(policy);
  CHECK(Places(policy->reads.begin(), policy->reads.begin() + 3) ==
        Places{{"b", "list", Extent::object},
               {"b", "folder/", Extent::folder},
               {"c", "", Extent::folder}});
  for (const char* whole : {"s3://b", "s3://b/"}) {
    asked["CheckpointConfig"]["S3Uri"] = whole;
    CHECK(taken(asked, config_of("{}")).error().message.find("whole bucket") != std::string::npos);
  }
}

TEST_CASE("job config: types of AWS's that it does not name run without limits, others do not") {
  const JobConfig config = config_of(R"({"instance_types": {"ml.m5.large": {"cpus": 2}}})");
  CHECK(config.instance("ml.m5.large")->cpu_millis == 2000);
  for (const char* type :
       {"ml.m5.xlarge", "ml.p4d.24xlarge", "ml.g5.metal", "ml.t3.medium", "local"})
    CHECK(config.instance(type) == JobConfig::Instance{});
  for (const char* type : {"ml.m5", "ml..large", "ml.m5.2", "ml.m5.x2large", "ml.m5.big",
                           "localhost", "x.m5.large", "ml.m5.large.", ""})
    CHECK(!config.instance(type));
}

TEST_CASE("job config: the most exact name counts, wherever it is in the list") {
  const JobConfig config = config_of(
      R"({"instance_types": {"*": {"gpus": 1}, "ml.*": {"gpus": 2}, "ml.p4": {"gpus": 8}},
          "images": {"*": {"python": "a"}, "torch*": {"python": "b"}, "torch:2": {}},
          "python": "c"})");
  CHECK(config.instance("x")->gpus == 1);
  CHECK(config.instance("ml.c5")->gpus == 2);
  CHECK(config.instance("ml.p4")->gpus == 8);
  CHECK(config.python_of("host") == "a");
  CHECK(config.python_of("torch:1") == "b");
  CHECK(config.python_of("torch:2") == "c");
}

TEST_CASE("job config: a stop's grace is SageMaker's, or as long as the config says") {
  CHECK(config_of("{}").stop_grace == std::chrono::seconds(120));
  CHECK(config_of(R"({"stop_grace_seconds": 5})").stop_grace == std::chrono::seconds(5));
  CHECK(!config_of("{}").first_user_id);
  CHECK(config_of("{}").hang_after == std::chrono::seconds(0));
  CHECK(config_of(R"({"hang_after_seconds": 60, "end_hung": true})").end_hung);
  CHECK(config_of(R"({"hang_after_seconds": 60})").hang_after == std::chrono::seconds(60));
  CHECK(config_of(R"({"first_user_id": 300000000})").first_user_id == 300'000'000);
}

TEST_CASE("job config: no job is promised GPUs that are not there") {
  struct {
    const char* text;
    int there;
    const char* want;
  } const cases[] = {
      {"{}", -1, ""},
      {R"({"capacity": {"gpus": 0}})", -1, ""},
      {R"({"capacity": {"gpus": 2}})", 2, ""},
      {R"({"capacity": {"gpus": 4}})", 2,
       "jobs.capacity.gpus: expected at most 2 (the number of this machine's GPUs), got 4"},
      {R"({"instance_types": {"a": {"cpus": 1}, "ml.p3": {"gpus": 1}}})", 0,
       "jobs.instance_types.ml.p3.gpus: expected 0 (this machine has no GPU that can be opened), "
       "got 1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<void> got = check_gpus(config_of(c.text), [&c] {
      REQUIRE(c.there >= 0);  // Asked in vain: it may take a second.
      return c.there;
    });
    CHECK((got ? "" : got.error().text) == c.want);
  }
}

TEST_CASE("job config: GPUs of an instance type are its hosts', and local_gpu has all") {
  JobConfig config = config_of(
      R"({"instance_types": {"ml.p3.2xlarge": {"gpus": 1}, "*": {}}, "capacity": {"hosts": 4}})");
  CHECK(config.instance("local_gpu")->gpus == 0);
  count_in_gpus(config, 4);
  CHECK(config.instance("local_gpu")->gpus == 4);
  CHECK(config.capacity.at("gpu") == 4);
  job::Spec asked;
  asked.name = "j";
  asked.instance_type = "ml.p3.2xlarge";
  CHECK(job_spec(asked, config, {})->gpus == 1);
  asked.instance_count = 2;
  asked.groups = {{"a", "ml.c5.xlarge", 1}, {"b", "ml.p3.2xlarge", 1}};
  const job::Spec mixed = *job_spec(asked, config, {});
  CHECK(mixed.groups[0].gpus == 0);
  CHECK(mixed.groups[1].gpus == 1);
  JobConfig few = config_of(R"({"capacity": {"gpus": 2}, "instance_types": {"local_gpu": {}}})");
  count_in_gpus(few, 1, {"gpu=0 needs recovery: Reset"});
  CHECK(few.capacity.at("gpu") == 1);
  CHECK(few.notes.at("gpu") == "gpu=0 needs recovery: Reset");
  count_in_gpus(few, 4);  // The GPUs recovered.
  CHECK(few.capacity.at("gpu") == 2);
  CHECK(few.notes.empty());
  CHECK(few.instance("local_gpu")->gpus == 0);  // The config's own word for it.
  JobConfig plain = *job_config_from(*parse_json("{}"), 2);
  count_in_gpus(plain, 4);
  job::Spec two;
  two.instance_type = "local_gpu";
  two.instance_count = 2;
  CHECK(needs_of(two, plain).at("gpu") == 8);  // No matter how few other jobs run.
  JobConfig none = config_of("{}");
  count_in_gpus(none, 0);
  CHECK(!none.capacity.contains("gpu"));
}

TEST_CASE("job config: GPUs that cannot be counted are the error that they are") {
  const Result<void> got =
      check_gpus(config_of(R"({"capacity": {"gpus": 1}})"),
                 []() -> Result<int> { return fail(Errc::denied, "/etc/cdi: writable"); });
  REQUIRE(!got);
  CHECK(got.error().text == "/etc/cdi: writable");
}

TEST_CASE(
    "job config: interpreters that are not there are named, names for PATH are not looked up") {
  const JobConfig config = config_of(
      R"({"python": "/nope/python", "images": {"a": {"python": "/there"}, "b": {"python": "p"},
          "c*": {"python": "/c"}, "d": {}}})");
  const auto there = [](const std::string& path) { return path == "/there"; };
  CHECK(missing_interpreters(config, there) ==
        std::vector<std::string>{
            "jobs.python: program not found: /nope/python; jobs that need it will fail",
            "jobs.images.c*.python: program not found: /c; jobs that need it will fail"});
  CHECK(missing_interpreters(config_of("{}"), there).empty());
}

TEST_CASE("job spec: the rights of a job's key in S3") {
  struct {
    std::int64_t volume;
    int hosts;
    const char* config;
    std::uint64_t want_gib;
  } const cases[] = {
      {1, 1, "{}", 10},
      {0, 1, "{}", 2 * job::volume_gib_default},
      {50, 3, "{}", 300},
      {50, 3, R"({"s3_budget_gib": 7})", 7},
      {1, 1, R"({"s3_budget_gib": 0})", 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.config);
    job::Spec spec;
    spec.volume_gib = c.volume;
    spec.instance_count = c.hosts;
    CHECK(s3_budget_of(spec, config_of(c.config).s3_budget_bytes) == c.want_gib << 30);
  }
}

TEST_CASE("job config: patterns") {
  struct {
    const char* pattern;
    const char* text;
    bool want;
  } const cases[] = {
      {"host", "host", true},
      {"host", "hosts", false},
      {"*", "", true},
      {"ml.*", "ml.c5", true},
      {"ml.*", "local", false},
      {"*a*b", "xaxbxb", true},
      {"*a*b", "xaxbx", false},
      {"a**b", "ab", true},
      {"", "", true},
      {"", "a", false},
      {"*.ecr.*/*", "1.ecr.x/y:z", true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.pattern);
    CAPTURE(c.text);
    CHECK(matches(c.pattern, c.text) == c.want);
  }
}

TEST_CASE("job config: an invalid value is one clear line") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {
      {R"([])", "jobs: expected an object"},
      {R"({"image": {}})", "jobs.image: expected one of the keys python, images"},
      {R"({"native_drivers": 1})", "jobs.native_drivers: expected true"},
      {R"({"python": ""})", "jobs.python: expected text"},
      {R"({"instance_types": []})", "jobs.instance_types: expected an object"},
      {R"({"instance_types": {"a": {"cpus": -1}}})", "jobs.instance_types.a.cpus: expected a num"},
      {R"({"instance_types": {"a": {"cpus": 0.001}}})", "jobs.instance_types.a.cpus: expected 0 ("},
      {R"({"instance_types": {"a": {"cpus": 1001}}})", "jobs.instance_types.a.cpus: expected 0 ("},
      {R"({"instance_types": {"a": {"cores": 1}}})",
       "jobs.instance_types.a.cores: expected one of the keys cpus"},
      {R"({"instance_types": {"a": 1}})", "jobs.instance_types.a: expected an object"},
      {R"({"capacity": {"gpus": "x"}})", "jobs.capacity.gpus: expected a number"},
      {R"({"capacity": 1})", "jobs.capacity: expected an object"},
      {R"({"images": {"a": {"pythons": "x"}}})",
       "jobs.images.a.pythons: expected the key \"python\""},
      {R"({"images": {"a": {"python": 3}}})", "jobs.images.a.python: expected text"},
      {R"({"stop_grace_seconds": -1})", "jobs.stop_grace_seconds: expected a number"},
      {R"({"hang_after_seconds": 5})",
       "jobs.hang_after_seconds: expected 0, or a number of seconds"},
      {R"({"end_hung": 1})", "jobs.end_hung: expected true or false"},
      {R"({"first_user_id": 1000})", "jobs.first_user_id: expected a whole number"},
      {R"({"first_user_id": 2147483647})", "jobs.first_user_id: expected a whole number"},
      {R"({"first_user_id": 1.5e9})", "jobs.first_user_id: expected a whole number"},
      {R"({"environment": ["A=b"]})",
       "jobs.environment: expected an object whose keys are variable names"},
      {R"({"environment": {"A": 1}})",
       "jobs.environment.A: expected a variable name with a string value"},
      {R"({"environment": {"": "b"}})",
       "jobs.environment.: expected a variable name with a string value"},
      {R"({"environment": {"A=": "b"}})", "jobs.environment.A=: expected a variable name"},
      {R"({"registries": "*"})", "jobs.registries: expected a list, e.g."},
      {R"({"registries": ["docker.io"]})", "jobs.registries: expected an image pattern"},
      {R"({"registries": ["a/b@sha256:1"]})", "jobs.registries: expected an image pattern"},
      {R"({"registries": [""]})", "jobs.registries: expected text"},
      {R"({"pull": "sometimes"})", "jobs.pull: expected \"missing\", \"always\" or"},
      {R"({"pull_limit": 0})",
       "jobs.pull_limit: expected a whole number of seconds from 1 to 604800"},
      {R"({"pull_limit": "1h"})", "jobs.pull_limit: expected a whole number of seconds"},
      {R"({"pull_limit": 604801})", "jobs.pull_limit: expected a whole number of seconds"},
      {R"({"image_store_gib": 0})", "jobs.image_store_gib: expected a number above 0"},
      {R"({"image_store_gib": "1g"})", "jobs.image_store_gib: expected a number"},
      {R"({"s3_budget_gib": -1})", "jobs.s3_budget_gib: expected a number from 0 to"},
      {R"({"registry_logins": "logins.json"})", "jobs.registry_logins: expected an absolute path"},
      {R"({"credentials_providers": []})",
       "jobs.credentials_providers: expected an object whose keys are ARNs"},
      {R"({"credentials_providers": {"team": {}}})", "jobs.credentials_providers: expected an ARN"},
      {R"({"credentials_providers": {"arn:a": 1}})",
       "jobs.credentials_providers.arn:a: expected an object with registries"},
      {R"({"credentials_providers": {"arn:a": {"logins": "/a"}}})",
       "jobs.credentials_providers.arn:a.registries: expected at least one registry"},
      {R"({"credentials_providers": {"arn:a": {"registries": ["a.lab"]}}})",
       "jobs.credentials_providers.arn:a.logins: expected an absolute path"},
      {R"({"credentials_providers": {"arn:a": {"registries": ["*"], "logins": "/a"}}})",
       "jobs.credentials_providers.arn:a.registries: expected a registry, e.g."},
      {R"({"credentials_providers": {"arn:a": {"program": "/a"}}})",
       "jobs.credentials_providers.arn:a.program: expected one of the keys registries and logins"},
      {R"({"image_policy": "policy.json"})", "jobs.image_policy: expected an absolute path"},
      {R"({"network": "host"})", "jobs.network: expected \"nat\" or \"none\""},
      {R"({"pip_conf": "pip.conf"})", "jobs.pip_conf: expected an absolute path"},
      {R"({"pip_conf": 1})", "jobs.pip_conf: expected text"},
      {R"({"network": true})", "jobs.network: expected \"nat\" or \"none\""},
      {R"({"vpc": "some"})", "jobs.vpc: expected \"known\" or \"any\""},
      {R"({"images": ["a"]})", "jobs.images: expected an object"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<JobConfig> got = job_config_from(Json::parse(c.text));
    REQUIRE_FALSE(got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.starts_with(c.want));
  }
}

}  // namespace
}  // namespace muster::jobs
