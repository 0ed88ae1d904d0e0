#include "cli/fit/submit_request.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/fit/submit_upload.h"

namespace muster::cli {
namespace {

Json json(const char* text) {
  const Result<Json> parsed = parse_json(text);
  REQUIRE(parsed);
  return *parsed;
}

SubmitWords words() {
  SubmitWords words;
  words.script = "train.py";
  return words;
}

TEST_CASE("submit: a request is what the SageMaker SDK would send for a script") {
  SubmitWords typed = words();
  typed.name = "j";
  typed.hosts = "3";
  typed.launch.processes_per_host = "2";
  typed.hyperparameters = {"epochs=2", "text=a b"};
  typed.texts = {"id=007", "n=7"};
  typed.environment = {"A=b"};
  typed.metrics = {"loss=loss: (.*);"};
  const Result<SubmitOptions> options = submit_options(typed);
  REQUIRE(options);
  const SubmitPlaces places{
      "train.py", "s3://b/j/source/sourcedir.tar.gz", {{"train", "s3://b/d"}}, "s3://b/"};
  const Json request = create_request(*options, places, "000000000000");
  CHECK(request["HyperParameters"] == json(R"({
      "epochs": "2", "text": "\"a b\"", "id": "\"007\"", "n": "\"7\"",
      "sagemaker_program": "\"train.py\"",
      "sagemaker_submit_directory": "\"s3://b/j/source/sourcedir.tar.gz\"",
      "sagemaker_job_name": "\"j\"", "sagemaker_mpi_enabled": "true",
      "sagemaker_mpi_num_of_processes_per_host": "2"})"));
  CHECK(request["ResourceConfig"]["InstanceCount"] == 3);
  CHECK(request["AlgorithmSpecification"]["MetricDefinitions"] ==
        json(R"([{"Name": "loss", "Regex": "loss: (.*);"}])"));
  CHECK(request["Environment"] == json(R"({"A": "b"})"));
  CHECK(request["RoleArn"] == "arn:aws:iam::000000000000:role/muster");
  CHECK(request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "s3://b/d");
}

TEST_CASE("submit: flags of launchers send what asks for them") {
  SubmitWords typed = words();
  typed.hosts = "2";
  typed.launch.processes_per_host = "4";
  typed.launch.launchers["--torchrun"] = true;
  const Result<SubmitOptions> options = submit_options(typed);
  REQUIRE(options);
  const Json sent = create_request(*options, {}, "000000000000")["HyperParameters"];
  CHECK(sent["sagemaker_torch_distributed_enabled"] == "true");
  CHECK(sent["sagemaker_mpi_num_of_processes_per_host"] == "4");
  CHECK(!sent.contains("sagemaker_mpi_enabled"));
}

TEST_CASE("submit: an image's own program gets its hyperparameters as they are") {
  SubmitWords typed;
  typed.image = "mine";
  typed.hyperparameters = {"a=x y"};
  const Result<SubmitOptions> options = submit_options(typed);
  REQUIRE(options);
  const Json request = create_request(*options, {}, "000000000000");
  CHECK(request["HyperParameters"] == json(R"({"a": "x y"})"));
  CHECK(!request.contains("Environment"));
  CHECK(!request.contains("InputDataConfig"));
}

TEST_CASE("submit: a job without a network is isolated, any other is as the server has it") {
  SubmitWords typed = words();
  CHECK(!create_request(*submit_options(typed), {}, "0").contains("EnableNetworkIsolation"));
  typed.network = "nat";
  CHECK(!create_request(*submit_options(typed), {}, "0").contains("EnableNetworkIsolation"));
  typed.network = "none";
  CHECK(create_request(*submit_options(typed), {}, "0")["EnableNetworkIsolation"] == true);
}

TEST_CASE("submit: tags, a priority and checkpoints are part of the request") {
  SubmitWords typed = words();
  CHECK(!create_request(*submit_options(typed), {}, "0").contains("Tags"));
  CHECK(!create_request(*submit_options(typed), {}, "0").contains("CheckpointConfig"));
  typed.tags = {"team=vision", "empty="};
  typed.priority = "3";
  SubmitPlaces places;
  places.checkpoints = "s3://b/c";
  const Json request = create_request(*submit_options(typed), places, "0");
  CHECK(request["Tags"] == json(R"([{"Key": "team", "Value": "vision"},
                                    {"Key": "empty", "Value": ""},
                                    {"Key": "muster:priority", "Value": "3"}])"));
  CHECK(request["CheckpointConfig"] == json(R"({"S3Uri": "s3://b/c"})"));
}

TEST_CASE("submit: checkpoints of a folder go below the job's name, a URL stays") {
  SubmitOptions options;
  options.name = "j";
  CHECK(places_for(options, {}, "b").checkpoints.empty());
  options.checkpoints = "s3://else/where";
  CHECK(places_for(options, {}, "b").checkpoints == "s3://else/where");
  options.checkpoints = "ckpt";
  SubmitFiles files;
  files.checkpoints = "/here/ckpt";
  CHECK(places_for(options, files, "b").checkpoints == "s3://b/j/checkpoints");
}

TEST_CASE("submit: the form of earlier versions is answered with the line to type") {
  struct {
    Args args;
    const char* want;
  } const cases[] = {
      {{"--script", "t.py"}, "sm submit t.py"},
      {{"job-1", "--script=t.py", "--hosts", "3", "--wait"},
       "sm submit t.py --name job-1 --hosts 3 --wait"},
      {{"-n", "2", "--script", "my train.py", "-p", "a=b", "--env=X=1", "job-1"},
       "sm submit 'my train.py' --name job-1 -n 2 -p a=b --env=X=1"},
      {{"--env", "--script", "t.py"}, ""},
      {{"t.py", "--name", "job-1"}, ""},
      {{"--script"}, ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.want);
    CHECK(new_submit_line(one.args, command::page_of("submit")) == one.want);
  }
}

TEST_CASE("submit: wrong flags are refused by name") {
  struct {
    std::function<void(SubmitWords&)> change;
    const char* text;
  } const cases[] = {
      {[](SubmitWords& w) { w.script.clear(); }, "expected a script to run"},
      {[](SubmitWords& w) { w.name = "a_b"; }, "--name: "},
      {[](SubmitWords& w) { w.hosts = "0"; }, "--hosts: expected a whole number"},
      {[](SubmitWords& w) { w.network = "host"; }, "--network: expected nat or none, got \"host\""},
      {[](SubmitWords& w) { w.json_file = "f", w.script.clear(), w.network = "none"; },
       "--json-file: the file describes the whole job"},
      {[](SubmitWords& w) { w.output = "/tmp"; }, "--output: expected s3://"},
      {[](SubmitWords& w) { w.inputs = {"train"}; }, "--input: expected NAME=DIR"},
      {[](SubmitWords& w) { w.hyperparameters = {"sagemaker_program=x"}; },
       "because sm submit sets this hyperparameter itself"},
      {[](SubmitWords& w) { w.json_file = "f"; }, "--json-file: the file describes the whole job"},
      {[](SubmitWords& w) { w.script.clear(), w.source_folder = "d"; },
       "--source-dir requires a SCRIPT"},
      {[](SubmitWords& w) { w.script.clear(), w.image = "x", w.launch.launchers["--mpi"] = true; },
       "require a script"},
      {[](SubmitWords& w) { w.json_file = "f", w.script.clear(), w.volume_size = "3"; },
       "--json-file: the file describes the whole job"},
      {[](SubmitWords& w) { w.tags = {"team"}; }, "--tag: expected KEY=VALUE, got \"team\""},
  };
  for (const auto& one : cases) {
    SubmitWords typed = words();
    one.change(typed);
    const Result<SubmitOptions> options = submit_options(typed);
    CAPTURE(one.text);
    REQUIRE(!options);
    CHECK(options.error().code == Errc::invalid_input);
    CHECK(options.error().text.find(one.text) != std::string::npos);
  }
}

TEST_CASE("submit: a file's request gets the given name, or needs its own") {
  CHECK((*request_from(R"({"TrainingJobName": "a"})", ""))["TrainingJobName"] == "a");
  CHECK((*request_from(R"({"TrainingJobName": "a", "x": 1})", "b"))["TrainingJobName"] == "b");
  for (const char* bad : {"{}", "[]", "{", R"({"TrainingJobName": 1})"}) {
    CAPTURE(bad);
    const Result<Json> request = request_from(bad, "");
    REQUIRE(!request);
    CHECK(request.error().code == Errc::invalid_input);
  }
}

}  // namespace
}  // namespace muster::cli
