#include "cli/client.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/api_client.h"
#include "cli/exit_codes.h"
#include "cli/job_view.h"
#include "cli/log_merge.h"
#include "cli/submit_request.h"
#include "cli/submit_upload.h"
#include "cli/wait.h"

namespace muster::cli {
namespace {

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

Json json(const char* text) {
  const Result<Json> parsed = parse_json(text);
  REQUIRE(parsed);
  return *parsed;
}

TEST_CASE(
    "client: a line of a log gets its rank and stream back, and no other text is taken for it") {
  using Kind = LogEntry::Kind;
  struct {
    const char* message;
    Kind kind;
    int rank;
    job::Stream stream;
    const char* name;
    const char* text;
  } const cases[] = {
      {"plain", Kind::line, -1, job::Stream::out, "", "plain"},
      {"", Kind::line, -1, job::Stream::out, "", ""},
      {"[1,mpirank:0,algo-2]<stdout>:x", Kind::line, 0, job::Stream::out, "", "x"},
      {"[1,mpirank:13,algo-2]<stderr>:[1,mpirank:2,algo-2]<stdout>:", Kind::line, 13,
       job::Stream::err, "", "[1,mpirank:2,algo-2]<stdout>:"},
      {"[1,mpirank:1,algo-1]<stdout>:another host's", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:1,algo-1]<stdout>:another host's"},
      {"[1,mpirank:-1,algo-2]<stdout>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:-1,algo-2]<stdout>:x"},
      {"[1,mpirank:1,algo-2]<stdlog>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:1,algo-2]<stdlog>:x"},
      {"[1,mpirank:99999999999,algo-2]<stdout>:x", Kind::line, -1, job::Stream::out, "",
       "[1,mpirank:99999999999,algo-2]<stdout>:x"},
      {"algo-2 muster: warning: slow: disk", Kind::own, -1, job::Stream::out, "warning",
       "slow: disk"},
      {"algo-1 muster: error: x", Kind::line, -1, job::Stream::out, "", "algo-1 muster: error: x"},
      {"algo-2 muster: odd: x", Kind::line, -1, job::Stream::out, "", "algo-2 muster: odd: x"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.message);
    const LogEntry entry = log_entry("algo-2", ms(5), one.message);
    CHECK(entry.kind == one.kind);
    CHECK(entry.rank == one.rank);
    if (one.rank >= 0) CHECK(entry.stream == one.stream);
    CHECK(entry.name == one.name);
    CHECK(entry.text == one.text);
    CHECK(entry.host == "algo-2");
    CHECK(entry.time == ms(5));
  }
}

TEST_CASE("client: a stream's host is what stands between the job and the time") {
  CHECK(host_of_stream("my-job/algo-12-1700000000000") == "algo-12");
  CHECK(host_of_stream("my-job/algo-1") == "algo-1");
  CHECK(host_of_stream("odd") == "odd");
  CHECK(host_of_stream("") == "");
}

TEST_CASE(
    "client: sources become one in order of time, and nothing is given before all are known") {
  LogMerge merge;
  CHECK(!merge.next());
  const std::size_t a = merge.add_source();
  const std::size_t b = merge.add_source();
  const auto text = [&] {
    const std::optional<LogEntry> entry = merge.next();
    return entry ? entry->text : std::string("-");
  };
  CHECK(merge.wanting() == a);
  merge.add(a, {.time = ms(2), .text = "a2"});
  merge.add(a, {.time = ms(3), .text = "a3"});
  CHECK(text() == "-");
  CHECK(merge.wanting() == b);
  merge.add(b, {.time = ms(1), .text = "b1"});
  merge.add(b, {.time = ms(2), .text = "b2"});
  CHECK(text() == "b1");
  CHECK(text() == "a2");
  CHECK(text() == "b2");
  CHECK(text() == "-");  // b may still have something before a3.
  merge.dry(b);
  CHECK(text() == "a3");
  merge.dry(a);
  CHECK(!merge.wanting());
  CHECK(text() == "-");
  merge.again();
  CHECK(merge.wanting() == a);
}

TEST_CASE("client: the lines of 1,000 hosts become one log") {
  constexpr std::size_t hosts = 1000, lines = 20;
  LogMerge merge;
  for (std::size_t host = 0; host < hosts; ++host) {
    const std::size_t source = merge.add_source();
    for (std::size_t line = 0; line < lines; ++line)
      merge.add(source, {.time = ms(static_cast<int>(line * hosts + (host * 7) % hosts))});
    merge.dry(source);
  }
  int next = 0;
  while (const std::optional<LogEntry> entry = merge.next()) {
    if (entry->time != ms(next)) FAIL("line " << next << " came at another time");
    ++next;
  }
  CHECK(next == static_cast<int>(hosts * lines));
}

TEST_CASE("client: a refusal says what is wrong in one line, and how the command ends") {
  struct {
    int status;
    const char* code;
    const char* message;
    int exit_code;
    const char* text;
  } const cases[] = {
      {400, "UnrecognizedClientException", "x", exit_usage,
       "the server does not know this access key (keys from E)"},
      {403, "InvalidAccessKeyId", "x", exit_usage, "does not know this access key"},
      {400, "InvalidSignatureException", "x", exit_usage,
       "the secret key is not this access key's"},
      {400, "InvalidSignatureException", "Signature expired or not yet current: …", exit_usage,
       "not yet current"},
      {400, "AccessDeniedException", "no", exit_usage, "rejects this access key: no"},
      {400, "ValidationException", "Requested resource not found.", exit_usage, "not found"},
      {400, "ValidationException", "1 validation error\ndetected", exit_usage,
       "1 validation error detected"},
      {400, "ResourceInUse", "taken", exit_usage, "ResourceInUse: taken"},
      {500, "InternalFailure", "disk", exit_platform, "an internal error: InternalFailure: disk"},
      {400, "ThrottlingException", "slow", exit_platform, "internal error"},
      {404, "", "", exit_platform, "the server answered 404, which is not a SageMaker response"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.code);
    const Error error = api_error(one.status, one.code, one.message, "E");
    CHECK(exit_code_of_client(error) == one.exit_code);
    CAPTURE(error.text);
    CHECK(error.text.find(one.text) != std::string::npos);
    CHECK(error.text.find('\n') == std::string::npos);
  }
  CHECK(api_error(400, "ValidationException", "Requested resource not found.", "").code ==
        Errc::not_found);
}

TEST_CASE("client: the table of jobs is aligned, whatever a server says") {
  CHECK(jobs_table(Json::array(), ms(0), false) == "no jobs\n");
  CHECK(jobs_table(Json(), ms(0), true) == "no jobs\n");
  const Json jobs = json(R"([
    {"TrainingJobName": "a", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training",
     "CreationTime": 1000.5},
    {"TrainingJobName": "longer\u001b[1m", "TrainingJobStatus": "Completed",
     "SecondaryStatus": "Completed", "CreationTime": 0, "TrainingEndTime": 7500},
    {"TrainingJobName": "never", "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed",
     "CreationTime": 0, "LastModifiedTime": 65.9},
    {"TrainingJobName": 7, "CreationTime": 1e300}, 5])");
  CHECK(jobs_table(jobs, ms(1010'000), false) ==
        "NAME           STATUS                 CREATED              TOOK\n"
        "a              InProgress (Training)  1970-01-01 00:16:40  9s\n"
        "longer\\x1b[1m  Completed              1970-01-01 00:00:00  2h05m\n"
        "never          Failed                 1970-01-01 00:00:00  1m05s\n"
        "                                      -                    -\n"
        "                                      -                    -\n");
  const std::string coloured = jobs_table(jobs, ms(0), true);
  CHECK(coloured.find("\x1b[31mFailed") != std::string::npos);
}

TEST_CASE("client: beside a server's jobs this machine's are marked, and their places are paths") {
  const Json jobs = json(R"([
    {"TrainingJobName": "here", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed",
     "CreationTime": 0, "TrainingEndTime": 5, "MusterPlace": "local"},
    {"TrainingJobName": "there", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed",
     "CreationTime": 0, "TrainingEndTime": 5}])");
  CHECK(jobs_table(jobs, ms(0), false) ==
        "NAME   STATUS     CREATED              TOOK  WHERE\n"
        "here   Completed  1970-01-01 00:00:00  5s    local\n"
        "there  Completed  1970-01-01 00:00:00  5s    server\n");
  const Json own = json(R"({
    "TrainingJobName": "here", "TrainingJobStatus": "Failed", "MusterPlace": "local",
    "OutputDataConfig": {"S3OutputPath": "file:///out"}, "MusterResults": true,
    "MusterExitCode": 1})");
  CHECK(results_of(own) == "/out");
  const std::string text = job_text(own, false);
  for (const char* line : {"Where      this machine\n", "Output     /out\n",
                           "Log        /out/log\n", "Exit code  1\n"})
    CHECK(text.find(line) != std::string::npos);
  CHECK(end_object(own).find(R"("output":"/out")") != std::string::npos);
  CHECK(local_text(own) ==
        "here is a job of sm fit on this machine, not of a server: its results lie in /out; sm "
        "delete deletes it, with its log");
  Json nothing = own;
  nothing["MusterResults"] = false;
  CHECK(job_text(nothing, false).find("/out") == std::string::npos);
  CHECK(local_text(nothing).find(": it has left no results; sm delete") != std::string::npos);
  nothing["TrainingJobStatus"] = "InProgress";
  CHECK(local_text(nothing).find(": it has not ended yet, and sm logs") != std::string::npos);
  CHECK(results_of(json(R"({"OutputDataConfig": {"S3OutputPath": "s3://b"},
                            "MusterResults": true})")) == "");
}

TEST_CASE("client: a description is text for people, with what there is") {
  const Json job = json(R"({
    "TrainingJobName": "j", "TrainingJobStatus": "Stopped", "SecondaryStatus": "MaxRuntimeExceeded",
    "AlgorithmSpecification": {"TrainingImage": "host"}, "FailureReason": "too\nlong",
    "ResourceConfig": {"InstanceGroups": [{"InstanceType": "a", "InstanceCount": 2},
                                          {"InstanceType": "b", "InstanceCount": 1}]},
    "CreationTime": 0, "TrainingTimeInSeconds": 61, "HyperParameters": {"epochs": "2"},
    "InputDataConfig": [{"ChannelName": "train",
                         "DataSource": {"S3DataSource": {"S3Uri": "s3://b/k"}}}, 7],
    "FinalMetricDataList": [{"MetricName": "loss", "Value": 0.5}],
    "SecondaryStatusTransitions":
        [{"Status": "Training", "StartTime": 1, "StatusMessage": "m"}]})");
  CHECK(job_text(job, false) ==
        "Name           j\n"
        "Status         Stopped (MaxRuntimeExceeded)\n"
        "Reason         too\n"
        "               long\n"
        "Image          host\n"
        "Hosts          2 x a, 1 x b\n"
        "Created        1970-01-01 00:00:00\n"
        "Training time  1m01s\n"
        "Inputs:\n"
        "  train  s3://b/k\n"
        "         \n"
        "Hyperparameters:\n"
        "  epochs  2\n"
        "Metrics:\n"
        "  loss  0.5\n"
        "Statuses:\n"
        "  1970-01-01 00:00:01  Training  m\n");
  CHECK(hosts_of_job(job) == 3);
  CHECK(exit_code_of_job(job) == exit_timed_out);
  CHECK(end_text(job, false) == "Stopped: too\n    long\n");
  CHECK(end_object(job) ==
        R"({"exit_code":4,"job":"j","metrics":{"loss":0.5},"output":null,"reason":"too\nlong",)"
        R"("secondary_status":"MaxRuntimeExceeded","status":"Stopped","training_seconds":183,)"
        R"("type":"end"})"
        "\n");
  CHECK(job_text(json("{}"), true).find("Hosts") != std::string::npos);
}

TEST_CASE("client: a job that hangs or is silent says so in the list and its description") {
  Json job{{"TrainingJobName", "j"},
           {"TrainingJobStatus", "InProgress"},
           {"SecondaryStatus", "Training"},
           {"MusterSilentSince", 100}};
  const UnixMillis now(820'000);
  const auto row = [&job, &now] { return jobs_table(Json::array({job}), now, false); };
  CHECK(row().find("InProgress (Training: silent for 12 min)") != std::string::npos);
  CHECK(job_text(job, false).find("Last line  1970-01-01 00:01:40") != std::string::npos);
  job["MusterSilentSince"] = -7000;
  CHECK(row().find("silent for 2 h 10 min") != std::string::npos);
  job["MusterHang"] = {{"since", 100}, {"noticed", 200}, {"verdict", "the job hangs\x1b[2J"}};
  CHECK(row().find("InProgress (Training: hangs)") != std::string::npos);
  CHECK(job_text(job, false)
            .find("Hang       the job hangs\\x1b[2J\n"
                  "           since 1970-01-01 00:01:40; sm stacks j shows") != std::string::npos);
  CHECK(job_text(job, true).find("\x1b[31mInProgress") != std::string::npos);
  job["TrainingJobStatus"] = "Completed";
  CHECK(row().find("hangs") == std::string::npos);
  CHECK(row().find("silent") == std::string::npos);
  CHECK(job_text(job, false).find("Hang") == std::string::npos);
}

TEST_CASE("client: a job's end is the exit code of who followed it") {
  struct {
    const char* status;
    const char* secondary;
    bool ended;
    int code;
    const char* text;
  } const cases[] = {
      {"Completed", "Completed", true, exit_success, ""},
      {"Failed", "Failed", true, exit_job_failed, "Failed: on request\n"},
      {"Stopped", "Stopped", true, exit_job_failed, "Stopped: on request\n"},
      {"Stopped", "MaxRuntimeExceeded", true, exit_timed_out,
       "Stopped: exceeded its time limit (sm explain timeout)\n"},
      {"InProgress", "Training", false, exit_job_failed, ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.status);
    const Json job{{"TrainingJobStatus", one.status}, {"SecondaryStatus", one.secondary}};
    CHECK(has_ended(job) == one.ended);
    CHECK(exit_code_of_job(job) == one.code);
    if (std::string(one.status) != "Failed") CHECK(end_text(job, false) == one.text);
  }
}

TEST_CASE("client: a wait ends with the code of the first job that did not complete") {
  const auto ended = [](const char* status, const char* secondary) {
    return Json{{"TrainingJobStatus", status}, {"SecondaryStatus", secondary}};
  };
  const Json good = ended("Completed", "Completed"), bad = ended("Failed", "Failed");
  const Json late = ended("Stopped", "MaxRuntimeExceeded"), runs;
  struct {
    std::vector<Json> jobs;
    std::optional<int> all, any;
  } const cases[] = {
      {{good}, exit_success, exit_success},
      {{good, late, bad}, exit_timed_out, exit_timed_out},
      {{bad, late}, exit_job_failed, exit_job_failed},
      {{runs, runs}, std::nullopt, std::nullopt},
      {{runs, good}, std::nullopt, exit_success},
      {{late, runs, good}, std::nullopt, exit_timed_out},
  };
  for (const auto& one : cases) {
    CAPTURE(one.jobs.size());
    CHECK(code_of_wait(one.jobs, false) == one.all);
    CHECK(code_of_wait(one.jobs, true) == one.any);
  }
}

TEST_CASE("client: the end of a job that was waited for is one line") {
  CHECK(ended_line({{"TrainingJobName", "a"}, {"TrainingJobStatus", "Completed"}}) ==
        "a: Completed\n");
  CHECK(ended_line({{"TrainingJobName", "a"},
                    {"TrainingJobStatus", "Failed"},
                    {"SecondaryStatus", "Failed"},
                    {"FailureReason", "exit code 1\x1b[2J\nTraceback"}}) ==
        "a: Failed: exit code 1\\x1b[2J\n");
  CHECK(ended_line({{"TrainingJobName", "a"},
                    {"TrainingJobStatus", "Stopped"},
                    {"SecondaryStatus", "MaxRuntimeExceeded"}}) ==
        "a: Stopped (MaxRuntimeExceeded)\n");
}

TEST_CASE("client: a job's results are in a folder of its own below its output") {
  const auto of = [](const char* path) {
    return output_place({{"TrainingJobName", "j"}, {"OutputDataConfig", {{"S3OutputPath", path}}}});
  };
  CHECK(of("s3://b") == "s3://b/j/output/");
  CHECK(of("s3://b/some/where//") == "s3://b/some/where/j/output/");
  CHECK(output_place(json("{}")).empty());
  CHECK(!is_unpacked(json("{}")));
  CHECK(!is_unpacked(json(R"({"OutputDataConfig": {"CompressionType": "GZIP"}})")));
  CHECK(is_unpacked(json(R"({"OutputDataConfig": {"CompressionType": "NONE"}})")));
  CHECK(output_place(json(R"({"OutputDataConfig": {"S3OutputPath": "s3://b"}})")).empty());
}

TEST_CASE("client: MPI's processes are read from the hyperparameters") {
  const auto of = [](const char* text) { return processes_per_host_of(json(text)); };
  CHECK(of("{}") == 0);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "true",
               "sagemaker_mpi_num_of_processes_per_host": "2"}})") == 2);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "true"}})") == 1);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "false",
               "sagemaker_mpi_num_of_processes_per_host": "2"}})") == 0);
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
  typed.environment = {"A=b"};
  typed.metrics = {"loss=loss: (.*);"};
  const Result<SubmitOptions> options = submit_options(typed);
  REQUIRE(options);
  const SubmitPlaces places{
      "train.py", "s3://b/j/source/sourcedir.tar.gz", {{"train", "s3://b/d"}}, "s3://b/"};
  const Json request = create_request(*options, places, "000000000000");
  CHECK(request["HyperParameters"] == json(R"({
      "epochs": "2", "text": "\"a b\"", "sagemaker_program": "\"train.py\"",
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
       "--json-file: the file is the whole job"},
      {[](SubmitWords& w) { w.output = "/tmp"; }, "--output: expected s3://"},
      {[](SubmitWords& w) { w.inputs = {"train"}; }, "--input: expected NAME=DIR"},
      {[](SubmitWords& w) { w.hyperparameters = {"sagemaker_program=x"}; },
       "is set by sm submit from its own flags"},
      {[](SubmitWords& w) { w.json_file = "f"; }, "--json-file: the file is the whole job"},
      {[](SubmitWords& w) { w.script.clear(), w.source_folder = "d"; },
       "--source-dir requires a SCRIPT"},
      {[](SubmitWords& w) { w.script.clear(), w.image = "x", w.launch.launchers["--mpi"] = true; },
       "need a script"},
      {[](SubmitWords& w) { w.json_file = "f", w.script.clear(), w.volume_size = "3"; },
       "--json-file: the file is the whole job"},
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

TEST_CASE("submit: a file's request takes the name given, or needs one of its own") {
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
