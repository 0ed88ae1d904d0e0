#include "job/training/training.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "job/training/upper.h"

namespace muster::job {
namespace {

const char* const three_hosts =
    R"({"current_host": "algo-2", "hosts": ["algo-1", "algo-2", "algo-3"],
        "network_interface_name": "eth0"})";
const char* const two_groups =
    R"({"current_host": "algo-2", "hosts": ["algo-1", "algo-2", "algo-3"],
        "current_group_name": "gpu", "current_instance_type": "ml.y", "instance_groups": [
        {"instance_group_name": "cpu", "instance_type": "ml.x", "hosts": ["algo-1"]},
        {"instance_group_name": "gpu", "instance_type": "ml.y", "hosts": ["algo-2", "algo-3"]}]})";

Training training(const std::string& hyperparameters, const std::string& resources = three_hosts,
                  Env env = {}) {
  Facts facts;
  facts.env = std::move(env);
  Result<Training> result = training_from({hyperparameters, resources, "{}"}, std::move(facts));
  REQUIRE(result);
  return *std::move(result);
}

// Expected values were printed by sagemaker-training 5.1.4 for the same files.
TEST_CASE("training: hyperparameters become variables and arguments as the reference makes them") {
  const struct {
    const char* given;  ///< The JSON value in hyperparameters.json.
    const char* variable;
    const char* argument;
  } cases[] = {
      {R"("1")", "1", "1"},
      {R"("1.10")", "1.1", "1.1"},
      {R"("1e5")", "100000.0", "100000.0"},
      {R"("1e16")", "1e+16", "1e+16"},
      {R"("true")", "true", "True"},
      {R"("null")", "", ""},
      {R"("abc")", "abc", "abc"},
      {R"("\"a b; $(x) `y`\"")", "a b; $(x) `y`", "a b; $(x) `y`"},
      {R"("\"line\\nline\"")", "line\nline", "line\nline"},
      {R"("\"\"")", "", ""},
      {R"("")", "", ""},
      {R"("[1,  2]")", "[1,2]", "[1, 2]"},
      {R"("[\"a'b\", null]")", R"(["a'b",null])", R"(["a'b", None])"},
      {R"("{\"b\": 1, \"a\": [1]}")", R"({"a":[1],"b":1})", "a=[1],b=1"},
      {R"("\"\\u00e9\"")", "\xc3\xa9", "\xc3\xa9"},
      {R"("[\"\\u00e9\"]")", R"(["\u00e9"])", "['\xc3\xa9']"},
      {R"("-0")", "0", "0"},
      {R"("01")", "01", "01"},
      {R"("NaN")", "NaN", "nan"},
      {R"(5)", "5", "5"},
      {R"(null)", "", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.given);
    const Training job = training(std::string("{\"name\": ") + c.given + "}");
    CHECK(sm_variables(job).at("SM_HP_NAME") == c.variable);
    CHECK(*user_args(job) == Args{"--name", c.argument});
  }
}

TEST_CASE("training: arguments are sorted, one letter takes one dash") {
  const Training job = training(R"({"z": "1", "lr": "0.1", "\u00e9": "2", "": "3"})");
  CHECK(*user_args(job) == Args{"", "3", "--lr", "0.1", "-z", "1", "-\xc3\xa9", "2"});
}

TEST_CASE("training: the submitter's own arguments follow, as they are") {
  const Training job =
      training(R"({"lr": "1"})", three_hosts, {{"MUSTER_SCRIPT_ARGS", R"(["a b", "", "-x"])"}});
  CHECK(*user_args(job) == Args{"--lr", "1", "a b", "", "-x"});
  for (const char* bad : {"", "{}", "[1]", R"(["a\u0000"])"}) {
    CAPTURE(bad);
    Facts facts;
    facts.env = {{"MUSTER_SCRIPT_ARGS", bad}};
    CHECK(training_from({"{}", three_hosts, "{}"}, facts).error().code == Errc::invalid_input);
  }
}

TEST_CASE("training: values that no argument can carry are refused by name") {
  for (const char* value : {R"("\"a\\u0000b\"")", R"("\"\\ud800\"")"}) {
    CAPTURE(value);
    const Result<Args> args = user_args(training(std::string("{\"odd\": ") + value + "}"));
    REQUIRE(!args);
    CHECK(args.error().code == Errc::invalid_input);
    CHECK(args.error().text.find("hyperparameter odd") != std::string::npos);
  }
}

TEST_CASE("training: parameters of the platform stay out of the user's") {
  const Training job = training(
      R"({"sagemaker_program": "\"t.py\"", "sagemaker_submit_directory": "\"s3://b/k\"",
          "sagemaker_mpi_enabled": "true", "sagemaker_mpi_num_of_processes_per_host": "2",
          "sagemaker_job_name": "\"j\"", "epochs": "3"})");
  const Env env = sm_variables(job);
  CHECK(env.at("SM_HPS") == R"({"epochs":3})");
  CHECK(env.at("SM_FRAMEWORK_PARAMS") ==
        R"({"sagemaker_mpi_enabled":true,"sagemaker_mpi_num_of_processes_per_host":2})");
  CHECK(env.at("SM_USER_ENTRY_POINT") == "t.py");
  CHECK(env.at("SM_MODULE_NAME") == "t");
  CHECK(env.at("SM_MODULE_DIR") == "s3://b/k");
  CHECK(env.at("SAGEMAKER_JOB_NAME") == "j");
  CHECK(mpi_enabled(job));
  CHECK(*processes_per_host(job) == 2);
}

TEST_CASE("training: variables have both their old and their current names") {
  ConfigFiles files{"{}", three_hosts, R"({"training": {}, "eval-1": {}})"};
  Facts facts;
  facts.base_dir = "/opt/ml";
  const Env env = sm_variables(*training_from(files, facts));
  CHECK(env.at("SAGEMAKER_CHANNELS") == "eval-1,training");
  CHECK(env.at("SAGEMAKER_CHANNEL_TRAINING") == "/opt/ml/input/data/training");
  CHECK(env.at("SAGEMAKER_CHANNEL_EVAL-1") == "/opt/ml/input/data/eval-1");
  CHECK(env.at("SAGEMAKER_MODEL_DIR") == "/opt/ml/model");
  CHECK(env.at("MODEL_DIR") == "/opt/ml/model");
  CHECK(to_env_vars(*training_from(files, facts)).count("MODEL_DIR") == 0);

  facts.env["MODEL_DIR"] = "/mine";
  CHECK(sm_variables(*training_from(files, facts)).at("MODEL_DIR") == "/mine");
}

TEST_CASE("training: the leader is the first host of the distribution") {
  CHECK(training("{}").leader == "algo-1");
  CHECK(training("{}", two_groups).leader == "algo-1");
  CHECK(training("{}", two_groups).roll_call_hosts().size() == 3);
  const Training mpi = training(R"({"sagemaker_mpi_enabled": "true"})", two_groups);
  CHECK(mpi.leader == "algo-2");
  CHECK(mpi.is_leader());
  CHECK(mpi.distribution_hosts == std::vector<std::string>{"algo-2", "algo-3"});
  CHECK(mpi.roll_call_hosts() == mpi.distribution_hosts);
  const Env env = sm_variables(mpi);
  CHECK(env.at("SM_IS_HETERO") == "true");
  CHECK(env.at("SM_CURRENT_INSTANCE_GROUP") == "gpu");
  CHECK(env.at("SM_DISTRIBUTION_INSTANCE_GROUPS") == R"(["gpu"])");
}

TEST_CASE("training: without files there is one host and nothing to pass") {
  Facts facts;
  facts.host_name = "box";
  const Result<Training> job = training_from({}, std::move(facts));
  REQUIRE(job);
  CHECK(job->hosts == std::vector<std::string>{"box"});
  CHECK(job->leader == "box");
  CHECK(user_args(*job)->empty());
  CHECK(!mpi_enabled(*job));
}

TEST_CASE("training: a malformed file is named with the place and what was expected") {
  const struct {
    const char* hyperparameters;
    const char* resources;
    const char* channels;
    const char* says;
  } cases[] = {
      {"{", three_hosts, "{}", "hyperparameters.json: line 1, column 2: expected a key"},
      {"{\"a\": \"1\",\n \"b\": }", three_hosts, "{}",
       "hyperparameters.json: line 2, column 7: expected a JSON value"},
      {"{\"a\": \"1\"", three_hosts, "{}",
       "hyperparameters.json: line 1, column 10: expected ',' or '}'"},
      {"[]", three_hosts, "{}", "hyperparameters.json: expected a JSON object"},
      {"{}", "", "{}", "resourceconfig.json: line 1, column 1: expected a JSON value"},
      {"{}", "{}", "{}", "resourceconfig.json: \"hosts\": expected a list of host names"},
      {"{}", R"({"current_host": "algo-1"})", "{}",
       "resourceconfig.json: \"hosts\": expected a list of host names"},
      {"{}", R"({"hosts": "algo-1"})", "{}", "\"hosts\": expected a list of host names"},
      {"{}", R"({"hosts": ["a b"]})", "{}", "\"hosts\": expected a list of host names"},
      {"{}", R"({"hosts": ["-x"]})", "{}", "\"hosts\": expected a list of host names"},
      {"{}", R"({"hosts": []})", "{}", "\"hosts\": expected at least one host"},
      {"{}", R"({"hosts": ["a", "a"]})", "{}", "host a appears twice"},
      {"{}", R"({"hosts": ["a"]})", "{}", "\"current_host\": expected the name of this host"},
      {"{}", R"({"hosts": ["a"], "current_host": "b"})", "{}", "b is not one of \"hosts\""},
      {"{}", R"({"hosts": ["a"], "current_host": "a", "instance_groups": [1]})", "{}",
       "\"instance_groups\": expected objects"},
      {"{}", three_hosts, "{,}", "inputdataconfig.json: line 1, column 2: expected a key"},
      {"{}", three_hosts, "[]", "inputdataconfig.json: expected a JSON object"},
      {"{}", three_hosts, R"({"../x": {}})", "channel \"../x\": expected the name of a folder"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.says);
    const Result<Training> job =
        training_from({c.hyperparameters, c.resources, c.channels}, Facts{});
    REQUIRE(!job);
    CHECK(job.error().code == Errc::invalid_input);
    CHECK(job.error().text.find(c.says) != std::string::npos);
    CHECK(job.error().text.find("/opt/ml/input/config/") == 0);
  }
}

TEST_CASE("training: counts of processes are whole numbers") {
  const auto of = [](const std::string& value) {
    return processes_per_host(
        training("{\"sagemaker_mpi_num_of_processes_per_host\": \"" + value + "\"}"));
  };
  CHECK(*of("4") == 4);
  CHECK(*of("null") == 1);
  for (const char* bad : {"-1", "2.5", "two", "[1]", "9999999"}) {
    CAPTURE(bad);
    CHECK(of(bad).error().code == Errc::invalid_input);
  }
  // As text: that is how an operator's flag comes.
  CHECK(of(R"(\"0\")").error().text ==
        "hyperparameter sagemaker_mpi_num_of_processes_per_host is \"0\"; expected a whole number "
        ">= 1");
}

TEST_CASE("training: Chainer's names for MPI count where only they enable it") {
  const std::string chainer =
      R"("sagemaker_use_mpi": "true", "sagemaker_num_processes": "3",
         "sagemaker_process_slots_per_host": "2", "sagemaker_additional_mpi_options": "\"-x A\"")";
  const std::string options = "sagemaker_mpi_custom_mpi_options";
  const Training job = training("{" + chainer + "}");
  CHECK(mpi_enabled(job));
  CHECK(*processes_per_host(job) == 2);
  CHECK(**num_processes(job) == 3);
  CHECK(*custom_mpi_options(job, options) == "-x A");
  const Training both = training("{" + chainer + R"(, "sagemaker_mpi_enabled": "true"})");
  CHECK(*processes_per_host(both) == 1);
  CHECK(!*num_processes(both));
  CHECK(*custom_mpi_options(both, options) == "");
  CHECK(!mpi_enabled(training(R"({"sagemaker_use_mpi": "false"})")));
  CHECK(processes_per_host(training(R"({"sagemaker_use_mpi": "true",
      "sagemaker_process_slots_per_host": "many"})"))
            .error()
            .text.find("sagemaker_process_slots_per_host") != std::string::npos);
}

TEST_CASE("entry point: a plain path inside the source folder, as the reference demands") {
  for (const char* good : {"train.py", "bin/train.sh", "a.b-c_d+e", "_x"})
    CHECK(check_entry_point(good));
  for (const char* bad : {"", "-c", "/bin/sh", "../x", "a/../b", "a//b", "./x", "a b", "a;b", "+x",
                          "a\nb", "\xc3\xa9.py"}) {
    CAPTURE(bad);
    CHECK(check_entry_point(bad).error().code == Errc::invalid_input);
  }
}

TEST_CASE("failure text: the reference's form, with the first cause in its first line") {
  Verdict verdict;
  verdict.outcome = Outcome::exited(3);
  verdict.host = "algo-2";
  verdict.process = "rank 3";
  verdict.rank = 3;
  verdict.last_lines = "ValueError: x";
  verdict.command = "python3 t.py";
  CHECK(failure_text(verdict) ==
        "ExecuteUserScriptError:\nExitCode 3\nErrorMessage \"rank 3 on algo-2: exit code 3\n"
        "ValueError: x\"\nCommand \"python3 t.py\"");
  verdict.outcome = Outcome::signaled(11);
  CHECK(failure_text(verdict).find("ExitCode -11\nErrorMessage \"rank 3 on algo-2: killed by "
                                   "SIGSEGV") != std::string::npos);
}

TEST_CASE("failure text: more is said of a lack of memory and of SageMaker's compiler") {
  Verdict verdict;
  verdict.outcome = Outcome::signaled(9);
  verdict.process = "train.py";
  verdict.command = "python3 train.py";
  CHECK(failure_text(verdict) ==
        "ExecuteUserScriptError:\nExitCode -9\nErrorMessage \"train.py: killed by SIGKILL\"\n"
        "Command \"python3 train.py\"");
  verdict.out_of_memory = true;
  CHECK(failure_text(verdict) ==
        "ExecuteUserScriptError:\nExitCode -9\nErrorMessage \"train.py: killed by SIGKILL (out of "
        "memory)\"\nExtraInfo \"OutOfMemory: Process killed by SIGKILL (signal 9)\"\n"
        "Command \"python3 train.py\"");
  verdict.out_of_memory = false;
  verdict.last_lines = "File \"/x/torch_xla/core.py\"";
  CHECK(failure_text(verdict).find("\nExtraInfo \"SMTrainingCompiler Error: Error occurred in "
                                   "SMTrainingCompiler.\"\n") != std::string::npos);
}

TEST_CASE("failure text: one line says why the script could not be run") {
  Verdict verdict;
  verdict.outcome = Outcome::failed("sagemaker_program: the job has no entry point");
  verdict.host = "algo-1";
  CHECK(failure_text(verdict) == "algo-1: sagemaker_program: the job has no entry point");
  verdict.error_class = "InstallRequirementsError";
  CHECK(failure_text(verdict).starts_with("InstallRequirementsError:\nExitCode 1\n"));
  CHECK(framework_failure_text("no file") == "Framework Error: \nno file");
  CHECK(framework_exit_code(fail(Errc::not_found, "")) == 2);
  CHECK(framework_exit_code(fail(Errc::denied, "")) == 13);
  CHECK(framework_exit_code(fail(Errc::invalid_input, "")) == 1);
}

TEST_CASE("training: names of variables are raised as Python raises them") {
  const struct {
    const char* given;
    const char* want;
  } cases[] = {{"a_b-1.x", "A_B-1.X"},
               {"stra\u00dfe", "STRASSE"},
               {"\u00f1\u00ff", "\u00d1\u0178"},
               {"\u043a\u044f", "\u041a\u042f"},
               {"\u0101\u0100", "\u0100\u0100"},
               {"\u65e5\u672c", "\u65e5\u672c"},
               {"\ufb03", "FFI"},
               {"\U00010428", "\U00010400"},
               {"a\xff\xe2\x28", "A\xff\xe2\x28"},
               {"\xed\xa0\x80z", "\xed\xa0\x80Z"},
               {"", ""}};
  for (const auto& c : cases) {
    CAPTURE(c.given);
    CHECK(python_upper(c.given) == c.want);
  }
}

TEST_CASE("properties: all that the reference's Environment has, sorted by name") {
  const Training job = training(R"({"lr": "0.1", "b": "{\"z\": 1, \"a\": 2}"})");
  const PyValue all = properties(job);
  CHECK(all.members.size() == 37);
  CHECK(std::is_sorted(all.members.begin(), all.members.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; }));
  CHECK(python_dumps_plain(*all.find("hyperparameters")) ==
        R"({"lr": 0.1, "b": {"z": 1, "a": 2}})");
  CHECK(all.find("job_name")->is_null());
  CHECK(!all.find("is_master")->boolean);
  CHECK(to_env_vars(job).count("CURRENT_HOST") == 0);
  CHECK(sm_variables(job).at("CURRENT_HOST") == "algo-2");
}

TEST_CASE("training: given contents replace files and are used unchanged") {
  const auto of = [](const std::string& given) {
    return training_from({R"({"from": "file"})", three_hosts, R"({"train": {}})"}, Facts{},
                         *given_config(given));
  };
  const Training given = *of(R"({"hyperparameters": {"a": "1"}, "resource_config":
      {"current_host": "x", "hosts": ["x"]}, "input_data_config": {"test": {}}})");
  CHECK(python_dumps(given.hyperparameters) == R"({"a":"1"})");
  CHECK(given.current_host == "x");
  CHECK(given.channels == std::vector<std::string>{"test"});
  // What Python takes for false leaves the file in force.
  for (const char* none : {"{}", R"({"hyperparameters": {}, "resource_config": null})"}) {
    CAPTURE(none);
    const Training files = *of(none);
    CHECK(python_dumps(files.hyperparameters) == R"({"from":"file"})");
    CHECK(files.current_host == "algo-2");
    CHECK(files.channels == std::vector<std::string>{"train"});
  }
  for (const char* bad : {"", "[]", R"({"hosts": []})", R"({"hyperparameters": [1]})"}) {
    CAPTURE(bad);
    CHECK(given_config(bad).error().code == Errc::invalid_input);
  }
}

TEST_CASE("environment text: lines, shell and JSON") {
  const Env env = {{"A", "it's\n1"}, {"B-C", "x"}};
  CHECK(env_text(env) == "A=it's\n1\nB-C=x\n");
  CHECK(env_shell(env) == "export A='it'\"'\"'s\n1'\n");
  CHECK(env_json(env) == "{\"A\":\"it's\\n1\",\"B-C\":\"x\"}");
}

}  // namespace
}  // namespace muster::job
