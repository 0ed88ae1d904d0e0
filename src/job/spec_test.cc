#include "job/spec.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

Spec whole_spec() {
  Spec spec;
  spec.name = "mpi-demo-1";
  spec.hyperparameters = {{"epochs", "2"}, {"text", "\"a b;$(x)`\\n\xc3\xa9\""}, {"empty", ""}};
  spec.input = {{"train", "/data/train set"}, {"val.1", "/data/val"}};
  spec.environment = {{"NCCL_DEBUG", "INFO"}, {"EMPTY", ""}};
  spec.instance_count = 3;
  spec.instance_type = "ml.c5.xlarge";
  spec.groups = {{"cpu", "ml.c5.xlarge", 1, 1 << 30}, {"gpu", "ml.p3.2xlarge", 2, 0, 4, 2500}};
  spec.run_time_max = std::chrono::seconds(60);
  spec.source_folder = "/src";
  spec.python = "/venv/bin/python3";
  spec.path = "/venv/bin:/usr/bin";
  spec.grace = std::chrono::milliseconds(1500);
  spec.output_folder = "/out";
  spec.read_only_binds = {"/tmp/lib"};
  spec.hidden = {"/srv/muster"};
  spec.pip_conf = "/etc/mirror.conf";
  spec.shm_bytes = 1 << 20;
  spec.memory_bytes = 1 << 30;
  spec.cpu_millis = 1500;
  spec.gpus = 2;
  spec.hang_after = std::chrono::seconds(600);
  spec.end_hung = true;
  spec.network = Network::nat;
  InputChannel remote{"remote", ""};
  remote.s3 = {"s3://bucket/in", true, "tag", true, true, {"gpu"}};
  remote.content_type = "text/csv";
  remote.record_wrapper = "RecordIO";
  spec.input.push_back(remote);
  spec.entrypoint = {"/bin/bash"};
  spec.arguments = {"-c", "echo \"$HOME\""};
  spec.s3_output = "s3://bucket/out/";
  spec.packed_output = false;
  spec.checkpoint_url = "s3://bucket/ck";
  spec.checkpoint_path = "/data/ck";
  spec.s3 = {"http://127.0.0.1:7700", "eu-west-1", "/run/keys", "/etc/ca.pem", "/run/results"};
  spec.image = Image{
      .name = "box", .digest = "sha256:1", .layers = {"/l/1"}, .user = "app", .lease = "/l/lock"};
  return spec;
}

TEST_CASE("spec: a written one is read back") {
  const Spec spec = whole_spec();
  const Result<Spec> read = spec_from(*parse_json(to_text(to_json(spec))));
  REQUIRE(read);
  CHECK(*read == spec);
}

TEST_CASE("spec: checkpoints in a folder are read back, with whose they are") {
  Spec spec;
  spec.name = "j";
  spec.checkpoint_folder = "/home/a/ckpt";
  for (const std::optional<Owner>& owner : {std::optional<Owner>{}, std::optional<Owner>{{7, 8}}}) {
    spec.checkpoint_owner = owner;
    const Result<Spec> read = spec_from(*parse_json(to_text(to_json(spec))));
    REQUIRE(read);
    CHECK(*read == spec);
    CHECK(keeps_checkpoints(*read));
  }
  CHECK(!keeps_checkpoints({}));
}

TEST_CASE("spec: bound paths are read back, and a request cannot have any") {
  Spec spec;
  spec.name = "j";
  spec.bound = {{"/mnt/data", "/data"}, {"/home/a/cache", "/cache", true, 1000, 100}};
  const Json json = *parse_json(to_text(to_json(spec)));
  const Result<Spec> read = spec_from(json);
  REQUIRE(read);
  CHECK(*read == spec);
  const Result<Spec> asked = spec_asked_for(json);
  REQUIRE(asked);
  CHECK(asked->bound.empty());
}

TEST_CASE("spec: a request of CreateTrainingJob is enough, fields without use are passed over") {
  const Result<Spec> spec = spec_from(*parse_json(R"({
      "TrainingJobName": "j", "RoleArn": "arn:x", "OutputDataConfig": {"S3OutputPath": "s3://b"},
      "ResourceConfig": {"InstanceCount": 2, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1},
      "StoppingCondition": {"MaxRuntimeInSeconds": 5}, "HyperParameters": null})"));
  REQUIRE(spec);
  CHECK(spec->instance_count == 2);
  CHECK(spec->instance_type == "ml.m5.large");
  CHECK(spec->run_time_max.count() == 5);
  CHECK(spec->wait_max.count() == 0);
  CHECK(spec->hyperparameters.empty());
  const auto odd = spec_from(
      *parse_json(R"({"TrainingJobName": "j", "HyperParameters": {"a=b": "1", " ": ""}})"));
  CHECK(odd);  // As SageMaker; `train` refuses what it cannot pass on.
}

TEST_CASE("spec: the time to wait and run is read, written and looked at") {
  const auto asked = [](const char* seconds) {
    return spec_from(*parse_json(R"({"TrainingJobName": "j", "StoppingCondition": {
        "MaxRuntimeInSeconds": 5, "MaxWaitTimeInSeconds": )" +
                                 std::string(seconds) + "}}"));
  };
  const Result<Spec> spec = asked("9");
  REQUIRE(spec);
  CHECK(spec->wait_max.count() == 9);
  CHECK(spec_from(to_json(*spec))->wait_max.count() == 9);
  for (const char* seconds : {"-1", "2147483648"})
    CHECK(asked(seconds).error().text.find("MaxWaitTimeInSeconds") != std::string::npos);
}

TEST_CASE("spec: channels, results and checkpoints in S3 are as CreateTrainingJob names them") {
  const Result<Spec> spec = spec_from(*parse_json(R"({
      "TrainingJobName": "j",
      "AlgorithmSpecification": {"TrainingInputMode": "File", "ContainerEntrypoint": ["/bin/bash"],
                                 "ContainerArguments": ["-c", "x y"]},
      "InputDataConfig": [
        {"ChannelName": "a", "DataSource": {"S3DataSource": {"S3Uri": "s3://b/a"}}},
        {"ChannelName": "b", "CompressionType": "Gzip", "InputMode": "FastFile",
         "ContentType": "text/csv", "RecordWrapperType": "None",
         "DataSource": {"S3DataSource": {"S3Uri": "s3://b/m", "S3DataType": "ManifestFile",
                                         "S3DataDistributionType": "ShardedByS3Key"}}}],
      "OutputDataConfig": {"S3OutputPath": "s3://b/out//", "KmsKeyId": ""},
      "CheckpointConfig": {"S3Uri": "s3://b/ck", "LocalPath": "/opt/ml/checkpoints/"}})"));
  REQUIRE(spec);
  CHECK(spec->entrypoint == Args{"/bin/bash"});
  CHECK(spec->arguments == Args{"-c", "x y"});
  CHECK(spec->input[0].s3 == S3Source{.url = "s3://b/a"});
  CHECK(spec->input[1].s3 == S3Source{"s3://b/m", true, "", true, true});
  CHECK(spec->input[1].content_type == "text/csv");
  CHECK(s3_results(*spec) == "s3://b/out/j/output");
  CHECK(spec->packed_output);
  CHECK(spec->checkpoint_path == checkpoints_path);
  CHECK(s3_results(Spec()).empty());
}

TEST_CASE("spec: groups follow each other over the hosts") {
  const Result<Spec> spec = spec_from(*parse_json(R"({"TrainingJobName": "j",
      "ResourceConfig": {"InstanceGroups": [
        {"InstanceGroupName": "a", "InstanceType": "ml.x", "InstanceCount": 2},
        {"InstanceGroupName": "b", "InstanceType": "ml.y", "InstanceCount": 9}]},
      "InputDataConfig": [
        {"ChannelName": "all", "DataSource": {"S3DataSource": {"S3Uri": "s3://b/a"}}},
        {"ChannelName": "b", "DataSource": {"S3DataSource": {"S3Uri": "s3://b/b",
                                            "InstanceGroupNames": ["b"]}}}]})"));
  REQUIRE(spec);
  CHECK(spec->instance_count == 11);
  CHECK(spec->instance_type == "ml.x");
  CHECK(group_of(*spec, "algo-2")->name == "a");
  CHECK(group_of(*spec, "algo-3")->name == "b");
  CHECK(group_of(*spec, "algo-11")->name == "b");
  CHECK(group_of(*spec, "algo-12") == nullptr);
  CHECK(group_of(*spec, "algo-0") == nullptr);
  CHECK(hosts_of(*spec, spec->groups[0]) == std::vector<std::string>{"algo-1", "algo-2"});
  CHECK(hosts_of(*spec, spec->groups[1]).front() == "algo-10");
  CHECK(hosts_of(*spec, spec->groups[1]).size() == 9);
  CHECK(has_channel(*spec, "algo-1", spec->input[0]));
  CHECK(!has_channel(*spec, "algo-1", spec->input[1]));
  CHECK(has_channel(*spec, "algo-10", spec->input[1]));
  CHECK(group_of(Spec(), "algo-1") == nullptr);
  Spec with_gpus = *spec;
  with_gpus.gpus = 7;
  with_gpus.groups[1].gpus = 2;
  CHECK(gpus_of(with_gpus, "algo-1") == 0);
  CHECK(gpus_of(with_gpus, "algo-3") == 2);
  with_gpus.groups.clear();
  CHECK(gpus_of(with_gpus, "algo-3") == 7);
  Spec limited = *spec;
  limited.cpu_millis = 500;
  limited.memory_bytes = 1 << 29;
  limited.groups[1].cpu_millis = 2000;
  limited.groups[1].memory_bytes = 1 << 30;
  CHECK(cpu_millis_of(limited, "algo-1") == 0);
  CHECK(cpu_millis_of(limited, "algo-3") == 2000);
  CHECK(memory_of(limited, "algo-1") == 0);
  CHECK(memory_of(limited, "algo-3") == 1 << 30);
  limited.groups.clear();
  CHECK(cpu_millis_of(limited, "algo-3") == 500);
  CHECK(memory_of(limited, "algo-3") == 1 << 29);
}

TEST_CASE("spec: errors name the invalid field") {
  struct {
    const char* json;
    const char* text;
  } const cases[] = {
      {"[]", "specification: expected an object"},
      {"{}", "TrainingJobName: expected a value"},
      {R"({"TrainingJobName": 1})", "TrainingJobName: expected text"},
      {R"({"TrainingJobName": "../x"})", "TrainingJobName: expected 1 to 63 letters"},
      {R"({"TrainingJobName": "-x"})", "TrainingJobName: expected 1 to 63 letters"},
      {R"({"TrainingJobName": "j", "HyperParameters": {"a": 1}})",
       "HyperParameters[a]: expected text"},
      {R"({"TrainingJobName": "j", "Environment": {"A=B": ""}})",
       "Environment: expected names without '='"},
      {R"({"TrainingJobName": "j", "Environment": {"": ""}})",
       "Environment: expected non-empty names"},
      {R"({"TrainingJobName": "j", "Environment": {"A": "x\u0000y"}})",
       "Environment[A]: expected UTF-8 text without NUL characters"},
      {R"({"TrainingJobName": "j", "InputDataConfig": {}})", "InputDataConfig: expected an array"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t"}]})",
       "InputDataConfig[0].Folder: expected a value"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "..", "Folder": "/"}]})",
       "InputDataConfig[0].ChannelName: expected 1 to 64"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "Folder": "x"}]})",
       "InputDataConfig[0].Folder: expected an absolute path"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "Folder": "/a"},
          {"ChannelName": "t", "Folder": "/b"}]})",
       "InputDataConfig[1].ChannelName: expected unique channel names"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "Folder": "/a",
          "DataSource": {"S3DataSource": {"S3Uri": "s3://b/k"}}}]})",
       "InputDataConfig[0].Folder: expected a folder or a DataSource"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t",
          "DataSource": {"FileSystemDataSource": {}}}]})",
       "InputDataConfig[0].DataSource.S3DataSource: expected a value"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t",
          "DataSource": {"S3DataSource": {"S3Uri": "/b/k"}}}]})",
       "InputDataConfig[0].DataSource.S3DataSource.S3Uri: expected s3://bucket/"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "DataSource":
          {"S3DataSource": {"S3Uri": "s3://b", "S3DataType": "AugmentedManifestFile"}}}]})",
       "InputDataConfig[0].DataSource.S3DataSource.S3DataType: expected S3Prefix or ManifestFile"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "InputMode": "Pipe",
          "DataSource": {"S3DataSource": {"S3Uri": "s3://b"}}}]})",
       "InputDataConfig[0].InputMode: expected File (or FastFile), got Pipe"},
      {R"({"TrainingJobName": "j", "AlgorithmSpecification": {"ContainerEntrypoint": [1]}})",
       "AlgorithmSpecification.ContainerEntrypoint[0]: expected text"},
      {R"({"TrainingJobName": "j", "AlgorithmSpecification": {"TrainingInputMode": "Pipe"}})",
       "AlgorithmSpecification.TrainingInputMode: expected File"},
      {R"({"TrainingJobName": "j", "OutputDataConfig": {"S3OutputPath": "s3://"}})",
       "OutputDataConfig.S3OutputPath: expected s3://bucket/"},
      {R"({"TrainingJobName": "j", "OutputDataConfig": {"CompressionType": "ZIP"}})",
       "OutputDataConfig.CompressionType: expected GZIP or NONE"},
      {R"({"TrainingJobName": "j", "CheckpointConfig": {}})",
       "CheckpointConfig.S3Uri: expected a value"},
      {R"({"TrainingJobName": "j", "CheckpointConfig": {"S3Uri": "s3://b", "LocalPath": "/etc"}})",
       "CheckpointConfig.LocalPath: expected a folder that muster does not use"},
      {R"({"TrainingJobName": "j", "CheckpointConfig": {"S3Uri": "s3://b",
          "LocalPath": "/data/../etc"}})",
       "CheckpointConfig.LocalPath: expected a folder that muster does not use"},
      {R"({"TrainingJobName": "j", "Muster": {"S3": {"Secret": "x"}}})",
       "Muster.S3.Secret: expected no such field"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceCount": 0}})",
       "ResourceConfig.InstanceCount: expected a number from 1 to 250"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceCount": 1e3}})",
       "ResourceConfig.InstanceCount: expected an integer"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceCount": 4294967297}})",
       "ResourceConfig.InstanceCount: expected an integer in range"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceGroups": [{}]}})",
       "ResourceConfig.InstanceGroups[0].InstanceGroupName: expected a value"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceGroups": [
          {"InstanceGroupName": "a", "InstanceType": "x"}]}})",
       "ResourceConfig.InstanceCount: expected a number from 1 to 250"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceGroups": [
          {"InstanceGroupName": "a", "InstanceType": "x", "InstanceCount": 2},
          {"InstanceGroupName": "b", "InstanceType": "x", "InstanceCount": -1}]}})",
       "ResourceConfig.InstanceGroups[1].InstanceCount: expected at least 1"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceGroups": [
          {"InstanceGroupName": "a", "InstanceType": "x", "InstanceCount": 1},
          {"InstanceGroupName": "a", "InstanceType": "x", "InstanceCount": 1}]}})",
       "ResourceConfig.InstanceGroups[1].InstanceGroupName: expected unique names"},
      {R"({"TrainingJobName": "j", "InputDataConfig": [{"ChannelName": "t", "DataSource":
          {"S3DataSource": {"S3Uri": "s3://b", "InstanceGroupNames": ["x"]}}}]})",
       "InputDataConfig[t].DataSource.S3DataSource.InstanceGroupNames: expected names of"},
      {R"({"TrainingJobName": "j", "Muster": {"GroupMemoryBytes": [1]}})",
       "Muster.GroupMemoryBytes: expected a number for each group"},
      {R"({"TrainingJobName": "j", "Muster": {"Gpus": -1}})", "Muster.Gpus: expected 0 to 1024"},
      {R"({"TrainingJobName": "j", "Muster": {"Spares": 17}})", "Muster.Spares: expected 0 to 16"},
      {R"({"TrainingJobName": "j", "Muster": {"HangAfter": 9}})",
       "Muster.HangAfter: expected 0, or 10 to 2419200 seconds"},
      {R"({"TrainingJobName": "j", "Muster": {"GroupGpus": [1]}})",
       "Muster.GroupGpus: expected a number for each group"},
      {R"({"TrainingJobName": "j", "Muster": {"Pyhton": "/x"}})",
       "Muster.Pyhton: expected no such field"},
      {R"({"TrainingJobName": "j", "Muster": {"GraceMs": -1}})", "Muster.GraceMs: expected 0 to"},
      {R"({"TrainingJobName": "j", "Muster": {"ReadOnlyBinds": [1]}})",
       "Muster.ReadOnlyBinds: expected an absolute path"},
      {R"({"TrainingJobName": "j", "Muster": {"Bound": [{"Outside": "x", "Inside": "/x"}]}})",
       "Muster.Bound.Outside: expected an absolute path"},
      {R"({"TrainingJobName": "j", "Muster": {"Bound": [{"Outside": "/x", "Inside": "/proc"}]}})",
       "Muster.Bound.Inside: /proc: hosts have their own /proc"},
      {R"({"TrainingJobName": "j", "Muster": {"Bound": [{"Outside": "/x"}]}})",
       "Muster.Bound[0].Inside: expected"},
      {R"({"TrainingJobName": "j", "Muster": {"Checkpoints": {"Folder": "x"}}})",
       "Muster.Checkpoints.Folder: expected an absolute path"},
      {R"({"TrainingJobName": "j", "Muster": {"Checkpoints": {"Folder": "/x", "User": 1}}})",
       "Muster.Checkpoints.User: expected a user's and a group's number, or neither"},
      {R"({"TrainingJobName": "j", "CheckpointConfig": {"S3Uri": "s3://b/c"},
           "Muster": {"Checkpoints": {"Folder": "/x"}}})",
       "Muster.Checkpoints.Folder: expected a folder or CheckpointConfig, not both"},
      {R"({"TrainingJobName": "j", "Muster": {"Hidden": ["x"]}})",
       "Muster.Hidden: expected an absolute path"},
      {R"({"TrainingJobName": "j", "Muster": {"PipConf": "pip.conf"}})",
       "Muster.PipConf: expected an absolute path"},
      {R"({"TrainingJobName": "j", "Muster": {"Network": "wide"}})",
       "Muster.Network: expected none, nat or host"},
      {R"({"TrainingJobName": "j", "ResourceConfig": {"InstanceCount": 2},
           "Muster": {"Network": "host"}})",
       "Muster.Network: expected nat or none, because the job has several hosts or a VPC"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.json);
    const Result<Spec> spec = spec_from(*parse_json(c.json));
    REQUIRE(!spec);
    CHECK(spec.error().code == Errc::invalid_input);
    CHECK(spec.error().text.substr(0, std::string(c.text).size()) == c.text);
  }
}

TEST_CASE("spec: networks have names") {
  for (const Network network : {Network::none, Network::nat, Network::host})
    CHECK(network_from(network_name(network)) == network);
  CHECK(!network_from("bridge"));
}

TEST_CASE("spec: hosts sort as text, as SageMaker's do") {
  CHECK(host_names(1) == std::vector<std::string>{"algo-1"});
  const std::vector<std::string> names = host_names(11);
  CHECK(names[1] == "algo-10");
  CHECK(names[3] == "algo-2");
}

}  // namespace
}  // namespace muster::job
