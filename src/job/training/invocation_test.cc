#include "job/training/invocation.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

const char* const one_host = R"({"current_host": "algo-1", "hosts": ["algo-1"]})";

Training training(const std::string& hyperparameters, Env env = {}) {
  Facts facts;
  facts.env = std::move(env);
  Result<Training> result = training_from({hyperparameters, one_host, "{}"}, std::move(facts));
  REQUIRE(result);
  return *std::move(result);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("invocation: the reference's sections, one after the other") {
  const Training job = training(R"({"lr": "0.1", "sagemaker_program": "t.py"})");
  const std::string text =
      invocation_text(job, {sm_variables(job), {"python3", "t.py", "--lr", "1"}});
  CHECK(
      text.starts_with("Invoking user script\n\nTraining Env:\n\n{\n"
                       "    \"additional_framework_parameters\": {},\n"
                       "    \"channel_input_dirs\": {},\n    \"current_host\": \"algo-1\",\n"));
  CHECK(holds(text, "    \"hyperparameters\": {\n        \"lr\": 0.1\n    },\n"));
  CHECK(holds(text, "\n}\n\nEnvironment variables:\n\nCURRENT_HOST=algo-1\n"));
  CHECK(holds(text,
              "\nSM_USER_ENTRY_POINT=t.py\n\nInvoking script with the following command:\n\n"
              "python3 t.py --lr 1\n\n"));
}

TEST_CASE("invocation: a secret is shown nowhere") {
  const Training job = training(
      R"({"hf_token": "\"hunter2-hunter2\"", "password": "12345678",
          "db": "{\"apiKey\": \"abcdefgh\"}",
          "sagemaker_secret": "\"framework-value\"", "lr": "0.1"})",
      {{"MUSTER_SCRIPT_ARGS", R"(["--wandb-api-key", "sw0rdfish", "--epochs=3"])"}});
  Env variables = sm_variables(job);
  variables["WANDB_API_KEY"] = "from-outside";
  const Args command = {"python3", "t.py"};
  Args all = command;
  const Args args = to_cmd_args(job);
  all.insert(all.end(), args.begin(), args.end());
  for (const Args& words : {all, Args{"/bin/sh", "-c", "./t.sh --hf_token 'hunter2-hunter2'"}}) {
    const std::string text = invocation_text(job, {variables, {"mpirun", "sm", "rank"}, words}) +
                             invocation_text(job, {variables, words});
    CAPTURE(text);
    for (const char* secret :
         {"hunter2", "12345678", "abcdefgh", "framework-value", "from-outside", "sw0rdfish"})
      CHECK(!holds(text, secret));
    CHECK(holds(text, "SM_HP_HF_TOKEN=******\n"));
    CHECK(holds(text, "\"apiKey\": \"******\""));
    CHECK(holds(text, "SM_HP_LR=0.1\n"));
    CHECK(holds(text, "--epochs=3"));
  }
}

TEST_CASE("invocation: folded, the environment is counted and what runs is shown") {
  const Training job = training(R"({"lr": "0.1", "sagemaker_program": "t.py"})");
  const Invocation invocation{.variables = {{"A", "b"}, {"SM_HP_LR", "0.1"}},
                              .command = {"mpirun", "sm", "rank"},
                              .rank_command = {"python3", "-m", "mpi4py", "t.py", "--key", "abc"},
                              .is_folded = true};
  CHECK(invocation_text(job, invocation) ==
        "Invoking user script\n\nTraining Env: " + std::to_string(properties(job).members.size()) +
            " values, environment variables: 2 (MUSTER_TRAINING_LOG=1 in the job's environment "
            "shows them)\n\nInvoking script with the following command:\n\nmpirun sm rank\n\n"
            "each rank runs: python3 -m mpi4py t.py --key ******\n\n");
}

TEST_CASE("invocation: names of secrets, and names that only look so") {
  const auto text = PyValue::of_text;
  for (const char* name : {"key", "API_KEY", "hf-token", "wandbApiKey", "AWS_SECRET_ACCESS_KEY",
                           "dbpassword", "Credentials", "SM_HP_TOKEN", "--token", "pwd"}) {
    CAPTURE(name);
    CHECK(is_secret(name, text("value")));
  }
  for (const char* name : {"", "tokenizer", "monkey", "keyframe", "lr", "keep", "path"}) {
    CAPTURE(name);
    CHECK(!is_secret(name, text("value")));
  }
  CHECK(!is_secret("max_tokens", text("512")));
  CHECK(!is_secret("num_key_heads", PyValue::of_int(8)));
  CHECK(is_secret("password", PyValue::of_int(8)));
}

TEST_CASE("log line: as Python's logging writes it, in UTC") {
  CHECK(log_line(20, "Hello", 1709208000123) ==
        "2024-02-29 12:00:00,123 sagemaker-training-toolkit INFO     Hello");
  CHECK(log_line(40, "x", 0) == "1970-01-01 00:00:00,000 sagemaker-training-toolkit ERROR    x");
  CHECK(log_line(25, "x", 0) == "1970-01-01 00:00:00,000 sagemaker-training-toolkit Level 25 x");
}

TEST_CASE("log level: numbers and names") {
  const auto of = [](const std::string& value) {
    return log_level(training("{\"sagemaker_container_log_level\": " + value + "}"));
  };
  CHECK(*log_level(training("{}")) == 20);
  const struct {
    const char* given;
    int want;
  } cases[] = {{"\"10\"", 10},   {"30", 30},      {R"("\"40\"")", 40}, {"\"INFO\"", 20},
               {"\"warn\"", 30}, {"\"true\"", 1}, {"\"0\"", 0}};
  for (const auto& c : cases) {
    CAPTURE(c.given);
    CHECK(*of(c.given) == c.want);
  }
  for (const char* bad :
       {"\"20.5\"", "\"null\"", "\"LOUD\"", "\"[]\"", "\"99999999999999999999\""}) {
    CAPTURE(bad);
    CHECK(of(bad).error().code == Errc::invalid_input);
  }
}

TEST_CASE("command text: a launcher's line, then what each rank runs, secrets masked") {
  CHECK(command_text({"mpirun", "-np", "2"}, {"python3", "a.py", "--api_key", "x1"}) ==
        "Invoking script with the following command:\n\nmpirun -np 2\n\n"
        "each rank runs: python3 a.py --api_key ******\n\n");
  CHECK(command_text({"a"}, {}) == "Invoking script with the following command:\n\na\n\n");
}

}  // namespace
}  // namespace muster::job
