#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/operations/identity.h"
#include "server/operations/operations_testing.h"

namespace muster::server {
namespace {

Json first_listed(World& world) {
  return world.ask("ListTrainingJobs", Json::object()).at("TrainingJobSummaries")[0];
}

Json named(const std::string& name) {
  return {{"TrainingJobName", name}};
}

TEST_CASE("operations: a created job reaches the runner and is described with its input") {
  World world;
  CHECK(world.ask("CreateTrainingJob", job_input("j")).at("TrainingJobArn") ==
        "arn:aws:sagemaker:us-east-1:000000000000:training-job/j");
  CHECK(world.jobs.calls == "submitted j; ");
  const Json job = world.ask("DescribeTrainingJob", named("j"));
  CHECK(job.at("TrainingJobStatus") == "InProgress");
  CHECK(job.at("SecondaryStatus") == "Pending");
  CHECK(job.at("SecondaryStatusTransitions")[0].contains("StatusMessage"));
  CHECK(job.at("OutputDataConfig").at("KmsKeyId") == "");
  CHECK(job.at("SomethingNew").at("Deep")[0] == 1);
  CHECK(job.at("CreationTime") == 1000.0);
  CHECK(job.at("LastModifiedTime") == 1000.0);
  CHECK(job.at("EnableManagedSpotTraining") == false);
  CHECK(job.at("MusterNetwork") == "nat");
  for (const char* name : {"Tags", "TrainingStartTime", "TrainingEndTime", "FailureReason",
                           "ModelArtifacts", "FinalMetricDataList", "TrainingTimeInSeconds"})
    CHECK(!job.contains(name));
}

TEST_CASE("operations: omitted members get AWS's defaults, except those that only responses have") {
  World world;
  Json input = job_input("j");
  input.erase("StoppingCondition");
  input["ResourceConfig"].erase("VolumeSizeInGB");
  input["ResourceConfig"]["InstanceGroups"] = Json::array();
  input["FailureReason"] = "mine";
  input["MusterNuma"] = "mine";
  CHECK(world.ask("CreateTrainingJob", input).contains("TrainingJobArn"));
  const Json job = world.ask("DescribeTrainingJob", named("j"));
  CHECK(job.at("StoppingCondition").at("MaxRuntimeInSeconds") == 86400);
  CHECK(job.at("ResourceConfig").at("VolumeSizeInGB") == 30);
  CHECK(!job.at("ResourceConfig").contains("InstanceGroups"));
  CHECK(!job.contains("FailureReason"));
  CHECK(!job.contains("MusterNuma"));
}

TEST_CASE("operations: an ended job shows its times, its reason and its metrics") {
  World world;
  world.ask("CreateTrainingJob", job_input("j"));
  REQUIRE(world.store.set_status("j", {store::Status::in_progress, "Training", "", at(2'000'000)}));
  REQUIRE(world.store.put_metrics("j", "algo-1", {{"loss", at(2'000'500), 0.5}}, 1));
  REQUIRE(world.store.put_notes("j", "runs here\nNUMA: algo-1: CPUs 0-7"));
  REQUIRE(world.store.finish("j", {.change = {store::Status::failed, "Failed", "m", at(2'001'250)},
                                   .failure_reason = "AlgorithmError: m",
                                   .model_artifacts = "s3://b/out/j/output/model.tar.gz"}));
  const Json job = world.ask("DescribeTrainingJob", named("j"));
  CHECK(job.at("TrainingStartTime") == 2000.0);
  CHECK(job.at("TrainingEndTime") == 2001.25);
  CHECK(job.at("TrainingTimeInSeconds") == 2);
  CHECK(job.at("BillableTimeInSeconds") == 2);
  CHECK(job.at("FailureReason") == "AlgorithmError: m");
  CHECK(job.at("ModelArtifacts").at("S3ModelArtifacts") == "s3://b/out/j/output/model.tar.gz");
  CHECK(to_text(job.at("FinalMetricDataList")) ==
        R"([{"MetricName":"loss","Timestamp":2000.5,"Value":0.5}])");
  CHECK(job.at("MusterNotes") == Json{"runs here"});
  CHECK(job.at("MusterNuma") == Json{{"algo-1", "CPUs 0-7"}});
  CHECK(job.at("SecondaryStatusTransitions").size() == 3);
  CHECK(job.at("SecondaryStatusTransitions")[2].at("EndTime") == 2001.25);
}

TEST_CASE("operations: the version of a manifest is stored with its job") {
  World world;
  Json input = job_input("j");
  input["InputDataConfig"] = Json::array(
      {{{"ChannelName", "train"},
        {"DataSource",
         {{"S3DataSource", {{"S3DataType", "ManifestFile"}, {"S3Uri", "s3://b/m"}}}}}}});
  world.ask("CreateTrainingJob", input);
  const std::optional<store::Job> job = *world.store.job("j");
  REQUIRE(job);
  CHECK(job->manifests == R"({"train":"tag-of-train"})");
  CHECK(job->request.find("tag-of-train") == std::string::npos);
}

TEST_CASE("operations: names are unique, repeated calls are not second jobs") {
  World world;
  CHECK(world.ask("CreateTrainingJob", job_input("j"), "i1").contains("TrainingJobArn"));
  CHECK(world.ask("CreateTrainingJob", job_input("j"), "i1").contains("TrainingJobArn"));
  CHECK(world.jobs.calls == "submitted j; ");
  CHECK(world.ask("CreateTrainingJob", job_input("j"), "i2").at("code") == "ResourceInUse");
  CHECK(world.code("CreateTrainingJob", job_input("j")) == "ResourceInUse");
}

TEST_CASE("operations: the reasons to refuse a creation") {
  World world;
  Json input = job_input("j");
  input["Tags"].push_back({{"Key", "team"}, {"Value", "y"}});
  CHECK(world.code("CreateTrainingJob", input) == "ValidationException");
  input = job_input("j");
  for (int i = 0; i < 50; ++i) input["Tags"].push_back({{"Key", std::to_string(i)}, {"Value", ""}});
  CHECK(world.code("CreateTrainingJob", input) == "ResourceLimitExceeded");
  input = job_input("j");
  input["AlgorithmSpecification"]["MetricDefinitions"] =
      Json::array({{{"Name", "m"}, {"Regex", "("}}});
  CHECK(world.code("CreateTrainingJob", input) == "ValidationException");
  world.jobs.is_full = true;
  CHECK(world.code("CreateTrainingJob", job_input("j")) == "ResourceLimitExceeded");
  CHECK(world.jobs.calls.empty());
  world.jobs.is_full = false;
  world.jobs.checked = aws::Refusal{"ResourceLimitExceeded", "no such instance type"};
  CHECK(world.code("CreateTrainingJob", job_input("j")) == "ResourceLimitExceeded");
  CHECK(world.code("DescribeTrainingJob", named("j")) == "ValidationException");
  CHECK(world.jobs.calls.empty());
}

TEST_CASE("operations: a job that waits is described with why") {
  World w;
  w.ask("CreateTrainingJob", job_input("a"));
  const auto message = [&w] {
    return w.ask("DescribeTrainingJob", {{"TrainingJobName", "a"}})
        .at("SecondaryStatusTransitions")
        .back()
        .at("StatusMessage");
  };
  CHECK(message() == "Waiting for free hosts");
  w.jobs.why = "Waiting for free hosts: place 1 of 1";
  CHECK(message() == w.jobs.why);
  const Json found = w.ask("Search", {{"Resource", "TrainingJob"}}).at("Results")[0];
  CHECK(found.at("TrainingJob").at("SecondaryStatusTransitions").back().at("StatusMessage") ==
        w.jobs.why);
}

TEST_CASE("operations: a job that is only checked is refused as it would be, and not made") {
  World w;
  const auto check = [&w](const char* name) {
    api::Request request{"sagemaker", "CreateTrainingJob", job_input(name), "AK"};
    request.own = api::Own::check;
    return w.operations.operate(request);
  };
  CHECK(*check("a") == Json::object());
  CHECK(w.jobs.calls.empty());
  CHECK(!*w.store.job("a"));
  w.jobs.checked = aws::Refusal{"ValidationException", "no such image"};
  CHECK(check("a").error().message == "no such image");
  w.jobs.checked = {};
  w.ask("CreateTrainingJob", job_input("a"));
  CHECK(check("a").error().code == "ResourceInUse");
}

TEST_CASE("operations: lists of a tag and of an instance type") {
  World world;
  world.ask("CreateTrainingJob", job_input("a"));
  Json input = job_input("b");
  input["Tags"] = Json::array({{{"Key", "team"}, {"Value", "y=z"}}});
  input["ResourceConfig"]["InstanceType"] = "ml.g5.xlarge";
  world.ask("CreateTrainingJob", input);
  const auto names = [&world](const char* filter) {
    const Json answer = world.ask("ListTrainingJobs", *parse_json(filter));
    if (answer.contains("message")) return answer.at("message").get<std::string>();
    std::string all;
    for (const Json& each : answer.at("TrainingJobSummaries"))
      all += each.at("TrainingJobName").get<std::string>() + " ";
    return all;
  };
  CHECK(names(R"({"MusterInstanceType": "g5"})") == "b ");
  CHECK(names(R"({"MusterTag": {"Key": "team"}})") == "a b ");
  CHECK(names(R"({"MusterTag": {"Key": "team", "Value": "y=z"}})") == "b ");
  CHECK(names(R"({"MusterTag": {"Key": "team", "Value": "%"}})").empty());
  const std::string no_type = "MusterInstanceType must be a string of at most 64 bytes.";
  const std::string no_tag = "MusterTag: expected the Key of a tag and, optionally, its Value.";
  CHECK(names(R"({"MusterInstanceType": ["g5"]})") == no_type);
  CHECK(names((R"({"MusterInstanceType": ")" + std::string(65, 'x') + "\"}").c_str()) == no_type);
  CHECK(names(R"({"MusterTag": "team"})") == no_tag);
  CHECK(names(R"({"MusterTag": {"Key": ""}})") == no_tag);
  CHECK(names(R"({"MusterTag": {"Key": "team", "Value": 7}})") == no_tag);
}

TEST_CASE("operations: a stop is stored, reported once, and refused after the end") {
  World world;
  world.ask("CreateTrainingJob", job_input("j"));
  CHECK(world.ask("StopTrainingJob", named("j")) == Json::object());
  CHECK(world.ask("StopTrainingJob", named("j")) == Json::object());
  CHECK(world.jobs.calls == "submitted j; stop j; ");
  const Json job = world.ask("DescribeTrainingJob", named("j"));
  CHECK(job.at("TrainingJobStatus") == "Stopping");
  CHECK(job.at("SecondaryStatus") == "Stopping");
  REQUIRE(
      world.store.finish("j", {.change = {store::Status::stopped, "Stopped", "", at(2'000'000)}}));
  CHECK(world.ask("StopTrainingJob", named("j")).at("message") ==
        "The request was rejected because the training job is in status Stopped.");
  CHECK(world.ask("StopTrainingJob", named("none")) ==
        Json{{"code", "ValidationException"}, {"message", "Requested resource not found."}});
}

TEST_CASE("operations: a stop that may not wait ends the grace, also of a job that stops already") {
  World world;
  const auto stop = [&](const char* name, Json now) {
    Json input = named(name);
    input["MusterNow"] = std::move(now);
    return world.ask("StopTrainingJob", input);
  };
  world.ask("CreateTrainingJob", job_input("a"));
  world.ask("CreateTrainingJob", job_input("b"));
  world.jobs.calls.clear();
  CHECK(stop("a", false) == Json::object());
  CHECK(stop("a", true) == Json::object());
  CHECK(stop("b", true) == Json::object());
  CHECK(world.jobs.calls == "stop a; kill a; stop b; kill b; ");
  CHECK(stop("a", "yes").at("message") == "MusterNow must be true or false.");
}

TEST_CASE("operations: lists are paged, filtered and sorted") {
  World world;
  for (const char* name : {"b", "a", "c", "d"}) {
    world.now += at(1000);
    world.ask("CreateTrainingJob", job_input(name));
  }
  REQUIRE(world.store.finish(
      "c", {.change = {store::Status::completed, "Completed", "", at(2'000'000)}}));
  const auto names = [&](Json input) {
    std::string all;
    for (int page = 0; page < 9; ++page) {
      const Json answer = world.ask("ListTrainingJobs", input);
      for (const Json& each : answer.at("TrainingJobSummaries"))
        all += each.at("TrainingJobName").get<std::string>() + " ";
      if (!answer.contains("NextToken")) break;
      input["NextToken"] = answer.at("NextToken");
      all += "| ";
    }
    return all;
  };
  CHECK(names(Json::object()) == "b a c d ");
  CHECK(names({{"MaxResults", 2}}) == "b a | c d ");
  CHECK(names({{"SortBy", "Name"}, {"SortOrder", "Descending"}, {"MaxResults", 3}}) ==
        "d c b | a ");
  CHECK(names({{"StatusEquals", "InProgress"}, {"SortBy", "Status"}, {"MaxResults", 1}}) ==
        "b | a | d ");
  CHECK(names({{"CreationTimeAfter", 1002.0}, {"CreationTimeBefore", 1004.0}}) == "c ");
  CHECK(names({{"LastModifiedTimeAfter", 1999.5}}) == "c ");
  CHECK(names({{"WarmPoolStatusEquals", "Available"}}).empty());
  CHECK(world.code("ListTrainingJobs", {{"NextToken", "zz"}}) == "ValidationException");
  const Json page = world.ask("ListTrainingJobs", {{"MaxResults", 1}});
  CHECK(page.at("TrainingJobSummaries")[0].at("SecondaryStatus") == "Pending");
  CHECK(world.code("ListTrainingJobs", {{"SortBy", "Name"}, {"NextToken", page.at("NextToken")}}) ==
        "ValidationException");
}

TEST_CASE("operations: updates, and removal of what has ended") {
  World world;
  world.ask("CreateTrainingJob", job_input("j"));
  Json update = named("j");
  update["ResourceConfig"] = {{"KeepAlivePeriodInSeconds", 60}};
  update["ProfilerConfig"] = {{"DisableProfiler", true}};
  CHECK(world.ask("UpdateTrainingJob", update).contains("TrainingJobArn"));
  const Json job = world.ask("DescribeTrainingJob", named("j"));
  CHECK(job.at("ResourceConfig").at("KeepAlivePeriodInSeconds") == 60);
  CHECK(job.at("ResourceConfig").at("InstanceCount") == 2);
  CHECK(job.at("ProfilerConfig").at("DisableProfiler") == true);
  const std::string kept = world.store.job("j")->value().request;
  for (const char* forged :
       {R"({"ResourceConfig": {"KeepAlivePeriodInSeconds": 60, "InstanceCount": 100000}})",
        R"({"ResourceConfig": {"KeepAlivePeriodInSeconds": 60, "InstanceType": "ml.p4d"}})",
        R"({"OutputDataConfig": {"S3OutputPath": "s3://b/another"}})", R"({"InputDataConfig": []})",
        R"({"CheckpointConfig": {"S3Uri": "s3://b/another"}})",
        R"({"HyperParameters": {"a": "2"}})",
        R"({"AlgorithmSpecification": {"ContainerEntrypoint": ["sh"]}})",
        R"({"StoppingCondition": {"MaxRuntimeInSeconds": 1}})",
        R"({"Muster": {"SourceFolder": "/etc"}})", R"({"ProfilerConfig": {"Muster": 1}})",
        R"({"OutputDataConfig": null, "ResourceConfig": {"KeepAlivePeriodInSeconds": 60,
            "InstanceCount": null}})"}) {
    CAPTURE(forged);
    Json input = Json::parse(forged);
    input["TrainingJobName"] = "j";
    CHECK(world.ask("UpdateTrainingJob", input).contains("TrainingJobArn"));
    CHECK(world.store.job("j")->value().request == kept);
  }
  CHECK(world.code("DeleteTrainingJob", named("j")) == "ResourceInUse");
  REQUIRE(
      world.store.finish("j", {.change = {store::Status::stopped, "Stopped", "", at(2'000'000)}}));
  CHECK(world.code("UpdateTrainingJob", update) == "ValidationException");
  CHECK(world.ask("DeleteTrainingJob", named("j")) == Json::object());
  CHECK(world.jobs.calls == "submitted j; deleted j; ");
  for (const char* each : {"DescribeTrainingJob", "DeleteTrainingJob", "UpdateTrainingJob"})
    CHECK(world.code(each, named("j")) == "ValidationException");
}

TEST_CASE("operations: tags of a job") {
  World world;
  world.ask("CreateTrainingJob", job_input("j"));
  Json input{{"ResourceArn", "arn:aws:sagemaker:us-east-1:000000000000:training-job/j"}};
  CHECK(to_text(world.ask("ListTags", input)) == R"({"Tags":[{"Key":"team","Value":"x"}]})");
  Json add = input;
  add["Tags"] = Json::array({{{"Key", "team"}, {"Value", "y"}}, {{"Key", "a"}, {"Value", ""}}});
  CHECK(to_text(world.ask("AddTags", add)) ==
        R"({"Tags":[{"Key":"a","Value":""},{"Key":"team","Value":"y"}]})");
  for (int i = 0; i < 49; ++i) add["Tags"].push_back({{"Key", std::to_string(i)}, {"Value", ""}});
  CHECK(world.code("AddTags", add) == "ResourceLimitExceeded");
  Json remove = input;
  remove["TagKeys"] = {"team"};
  CHECK(world.ask("DeleteTags", remove) == Json::object());
  CHECK(world.ask("ListTags", input).at("Tags").size() == 1);
  for (const char* arn : {"arn:aws:sagemaker:us-east-1:000000000000:training-job/none",
                          "arn:aws:sagemaker:us-east-1:000000000000:endpoint/j", "j"})
    CHECK(world.code("ListTags", {{"ResourceArn", arn}}) == "ValidationException");
}

TEST_CASE("operations: the tag muster:priority is checked, and heeded while a job waits") {
  World w;
  const auto tagged = [](const std::string& name, const std::string& value) {
    Json input = job_input(name);
    input["Tags"] = Json::array({{{"Key", "muster:priority"}, {"Value", value}}});
    return input;
  };
  CHECK(w.ask("CreateTrainingJob", tagged("a", "10")).at("message") ==
        "tag muster:priority: expected a whole number from 0 to 9, got \"10\"");
  w.now = at(5000);
  w.ask("CreateTrainingJob", tagged("a", "4"));
  w.ask("CreateTrainingJob", job_input("b"));
  REQUIRE(w.jobs.turns.size() == 2);
  CHECK(w.jobs.turns[0].priority == 4);
  CHECK(w.jobs.turns[0].key == "AK");
  CHECK(w.jobs.turns[0].submitted == at(5000));
  CHECK(w.jobs.turns[1].priority == 0);
  CHECK((*w.store.job("a"))->access_key == "AK");
  w.jobs.calls.clear();
  Json tags{{"ResourceArn", (*w.store.job("a"))->arn}};
  tags["Tags"] = Json::array({{{"Key", "muster:priority"}, {"Value", "x"}}});
  CHECK(w.code("AddTags", tags) == "ValidationException");
  tags["Tags"][0]["Value"] = "9";
  const auto as_low = [&](Json input) {
    return w.operations.operate({"sagemaker", "AddTags", std::move(input), "LOW", ""});
  };
  CHECK(!as_low(tags));
  CHECK(w.jobs.calls.empty());
  CHECK(w.ask("AddTags", tags).contains("Tags"));
  CHECK(w.jobs.calls == "a has priority 9; ");
  tags.erase("Tags");
  tags["TagKeys"] = {"muster:priority"};
  w.ask("DeleteTags", tags);
  CHECK(w.jobs.calls == "a has priority 9; a has priority 0; ");
}

TEST_CASE("operations: a waiting job is described with its place") {
  World w;
  w.ask("CreateTrainingJob", job_input("a"));
  CHECK(!w.ask("DescribeTrainingJob", named("a")).contains("MusterQueuePlace"));
  w.jobs.placed = jobs::QueuePlace{2, 5, 4};
  for (const Json& job : {w.ask("DescribeTrainingJob", named("a")), first_listed(w)}) {
    CHECK(job.at("MusterQueuePlace") == 2);
    CHECK(job.at("MusterQueueLength") == 5);
    CHECK(job.at("MusterPriority") == 4);
  }
}

TEST_CASE("operations: a job that hangs, is silent or is on Slurm says so in lists, too") {
  World w;
  Json input = job_input("a");
  input["MusterSlurm"] = "a claim";
  w.ask("CreateTrainingJob", input);
  const Json marks[] = {Json::object(),
                        {{"MusterHang", {{"since", 1.5}, {"noticed", 9.0}, {"verdict", "rank 2"}}}},
                        {{"MusterSilentSince", 1.5}, {"MusterSlurm", {{"JobId", "17"}}}}};
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == 2) w.jobs.slurm = {{"JobId", "17"}};
    if (i > 0) w.jobs.found = {at(1500), at(9000), i == 1 ? "rank 2" : ""};
    const Json described = w.ask("DescribeTrainingJob", named("a"));
    for (const Json& job : {described, first_listed(w)})
      for (const char* name : {"MusterHang", "MusterSilentSince", "MusterSlurm"})
        CHECK(job.value(name, Json()) == marks[i].value(name, Json()));
  }
}

TEST_CASE("operations: other services, and operations that no service has") {
  World world;
  const auto ask = [&](const std::string& service, const std::string& operation, Json input) {
    return world.operations.operate({service, operation, std::move(input), "AK", ""});
  };
  CHECK(ask("sts", "GetCallerIdentity", Json::object())->at("Account") == "000000000000");
  CHECK(ask("iam", "GetRole", {{"RoleName", "r"}})->at("Role").at("Arn") ==
        "arn:aws:iam::000000000000:role/r");
  const Json simulated = *ask("iam", "SimulatePrincipalPolicy", {{"ActionNames", {"a:B", "c:D"}}});
  CHECK(simulated.at("EvaluationResults")[1].at("EvalDecision") == "allowed");
  CHECK(simulated.at("IsTruncated") == false);
  CHECK(ask("ec2", "DescribeSubnets", {{"SubnetIds", {"subnet-1"}}}).error().code ==
        "InvalidSubnetID.NotFound");
  CHECK(ask("cloudformation", "DescribeStacks", Json::object())->at("Stacks").empty());
  CHECK(ask("logs", "DescribeLogGroups", Json::object())->at("logGroups").size() == 1);
  for (const char* service : {"sagemaker", "logs", "monitoring"}) {
    const aws::Refusal refusal = ask(service, "CreateMoon", Json::object()).error();
    CHECK(refusal.code == "UnknownOperationException");
    CHECK(refusal.message.find("CreateMoon") != std::string::npos);
  }
  CHECK(ask("sts", "CreateMoon", Json::object()).error().code == "InvalidAction");
}

}  // namespace
}  // namespace muster::server
