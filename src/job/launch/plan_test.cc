#include "job/launch/plan.h"

#include <doctest/doctest.h>

#include "job/launch/plan_inputs.h"
#include "job/launch/plan_testing.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

Inputs script(const std::string& name) {
  Inputs inputs;
  inputs.entry_point = name;
  inputs.args = {"--lr", "0.1", "-n", "a b"};
  inputs.variables = {{"SM_HOSTS", "[\"algo-1\"]"}, {"SM_NUM_GPUS", "0"}};
  inputs.host = "algo-1";
  inputs.hosts = {"algo-1"};
  return inputs;
}

Options in_code() {
  Options options;
  options.python = "/usr/bin/python3";
  options.sm = "/usr/local/bin/sm";
  options.agent = "/usr/local/bin/muster-agent";
  options.code_dir = "/opt/ml/code";
  return options;
}

TEST_CASE("plan: an entry point is started as what it is, its arguments as they are") {
  struct {
    const char* name;
    const char* entry;
    bool has_setup_py;
    bool executable;
    const char* first_line;
    Args want;  ///< Before the user's arguments.
  } const cases[] = {
      {"script", "train.py", false, false, "", {"/usr/bin/python3", "train.py"}},
      {"script in a folder", "a/b.py", false, false, "", {"/usr/bin/python3", "a/b.py"}},
      {"package", "train.py", true, false, "", {"/usr/bin/python3", "-m", "train"}},
      {"package without .py", "train", true, false, "", {"/usr/bin/python3", "-m", "train"}},
      {"module in a package",
       "pkg/train.py",
       true,
       false,
       "",
       {"/usr/bin/python3", "-m", "pkg.train"}},
      {"name with .py in it",
       "a.python.py",
       true,
       false,
       "",
       {"/usr/bin/python3", "-m", "a.python"}},
      {"shell script", "run.sh", false, true, "#!/bin/bash", {"./run.sh"}},
      {"shell script beside setup.py", "run.sh", true, true, "#!/bin/bash", {"./run.sh"}},
      {"without x bit", "run.sh", false, false, "#!/bin/bash", {"/bin/bash", "./run.sh"}},
      {"without x bit, one argument",
       "run.sh",
       false,
       false,
       "#! /usr/bin/env  bash -e ",
       {"/usr/bin/env", "bash -e", "./run.sh"}},
      {"names no interpreter", "run.sh", false, true, "echo hi", {"/bin/sh", "./run.sh"}},
      {"names none, no x bit", "run.sh", false, false, "", {"/bin/sh", "./run.sh"}},
      {"empty #!", "run.sh", false, false, "#! ", {"/bin/sh", "./run.sh"}},
      {"program",
       "bin/train",
       false,
       true,
       "\x7f"
       "ELF\x02",
       {"./bin/train"}},
      {"program of which nothing is known", "train", false, true, "", {"./train"}},
      {"text without an interpreter", "train", false, true, "echo hi", {"/bin/sh", "./train"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Options options = in_code();
    options.has_setup_py = c.has_setup_py;
    options.entry_executable = c.executable;
    options.entry_first_line = c.first_line;
    const Result<HostPlan> got = plan(script(c.entry), options);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    Args want = c.want;
    want.insert(want.end(), {"--lr", "0.1", "-n", "a b"});
    CHECK(got->rank.argv == want);
    CHECK(got->launcher == Launcher::process);
    CHECK(!got->launcher_command);
    CHECK(!got->roll_call);
    CHECK(got->rank.cwd == "/opt/ml/code");
  }
}

TEST_CASE("plan: under MPI Python runs with mpi4py, other programs as they are") {
  Inputs inputs = script("train.py");
  inputs.runner = Runner::mpi;
  Options options = in_code();
  const Args words = {"/usr/bin/python3", "-m", "mpi4py", "train.py", "--lr", "0.1", "-n", "a b"};
  CHECK(plan(inputs, options)->rank.argv == words);
  options.has_setup_py = true;
  CHECK(plan(inputs, options)->rank.argv ==
        Args{"/usr/bin/python3", "-m", "mpi4py", "-m", "train", "--lr", "0.1", "-n", "a b"});
  inputs.entry_point = "train.sh";
  options.entry_first_line = "#!/bin/sh";
  CHECK(plan(inputs, options)->rank.argv == Args{"./train.sh", "--lr", "0.1", "-n", "a b"});
}

TEST_CASE("plan: an entry point that cannot run is refused in one clear line") {
  struct {
    const char* entry;
    bool exists;
    const char* part;  ///< What the error's text has in it.
  } const cases[] = {
      {"", true, "sagemaker_program"},
      {"-m", true, "option"},
      {"/bin/sh", true, "absolute path"},
      {"../train.py", true, "component"},
      {"../../etc/passwd", true, "../../etc/passwd"},
      {"a/./b.py", true, "component"},
      {"a//b.py", true, "component"},
      {"./train.py", true, "component"},
      {"a/", true, "component"},
      {"my train.py", true, "characters"},
      {"train.py;id", true, "characters"},
      {"train.py", false, "\"train.py\" is not in /opt/ml/code"},
      {"train", true, "\"train\" is neither executable"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.entry);
    Options options = in_code();
    options.entry_exists = c.exists;
    options.entry_executable = false;
    const Result<HostPlan> got = plan(script(c.entry), options);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK_MESSAGE(got.error().text.find(c.part) != std::string::npos, got.error().text);
  }
  Inputs with_nul = script("train.py");
  with_nul.args = {std::string("a\0b", 3)};
  CHECK(plan(with_nul, in_code()).error().code == Errc::invalid_input);
}

TEST_CASE("plan: the program's environment is the host's, then the job's") {
  Options options = in_code();
  options.env = {{"PATH", "/bin"},
                 {"SM_HOSTS", "old"},
                 {"PWD", "/"},
                 {"OLDPWD", "/x"},
                 {"PYTHONPATH", "/a:/b"}};
  const Env env = plan(script("train.py"), options)->rank.env;
  CHECK(env == Env{{"PATH", "/bin"},
                   {"SM_HOSTS", "[\"algo-1\"]"},
                   {"SM_NUM_GPUS", "0"},
                   {"PWD", "/opt/ml/code"},
                   {"PYTHONPATH", "/opt/ml/code:/a:/b"},
                   {"PYTHONUNBUFFERED", "1"}});
  options.env = {{"PYTHONUNBUFFERED", "0"}, {"PYTHONPATH", "/a:/opt/ml/code"}};
  const Env kept = plan(script("train.py"), options)->rank.env;
  CHECK(kept.at("PYTHONUNBUFFERED") == "0");
  CHECK(kept.at("PYTHONPATH") == "/a:/opt/ml/code");
}

job::Training training_of(const std::string& hyperparameters, const std::string& host) {
  job::ConfigFiles files;
  files.hyperparameters = hyperparameters;
  files.resource_config = R"({"current_host": ")" + host +
                          R"(", "hosts": ["algo-1", "algo-2"], "network_interface_name": "ens5"})";
  const Result<job::Training> training = job::training_from(files, {});
  REQUIRE_MESSAGE(training, (training ? "" : training.error().text));
  return *training;
}

TEST_CASE("plan: a job's files decide, each host for itself") {
  const std::string hyperparameters =
      R"json({"sagemaker_program": "\"train.py\"", "sagemaker_mpi_enabled": "true",
          "sagemaker_mpi_num_of_processes_per_host": "2", "sagemaker_mpi_num_processes": "3",
          "sagemaker_mpi_custom_mpi_options": "\"-verbose --NCCL_DEBUG=WARN\"",
          "epochs": "2", "text": "a b;$(id)"})json";
  const Result<HostPlan> leader = plan(training_of(hyperparameters, "algo-1"), in_code());
  REQUIRE_MESSAGE(leader, (leader ? "" : leader.error().text));
  CHECK(leader->launcher == Launcher::mpi);
  CHECK(leader->roll_call);
  CHECK(leader->ranks_total == 3);
  const Args& line = leader->launcher_command->argv;
  CHECK(line[2] == "algo-1:2,algo-2:2");
  const std::string text = plan_text(*leader);
  for (const char* part :
       {"-mca btl_tcp_if_include ens5 ", "NCCL_DEBUG=WARN", " --display-map -verbose "})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  const Result<HostPlan> member = plan(training_of(hyperparameters, "algo-2"), in_code());
  REQUIRE(member);
  CHECK(!member->launcher_command);
  CHECK(member->ranks_here == 1);
  CHECK(member->rank.argv == Args{"/usr/bin/python3", "-m", "mpi4py", "train.py", "--epochs", "2",
                                  "--text", "a b;$(id)"});
  CHECK(member->rank.argv == leader->rank.argv);
  CHECK(member->rank.env.at("SM_CURRENT_HOST") == "algo-2");

  const job::Training plain = training_of(R"({"sagemaker_program": "train.py"})", "algo-2");
  const Result<HostPlan> alone = plan(plain, in_code());
  REQUIRE(alone);
  CHECK(alone->launcher == Launcher::process);
  CHECK(alone->roll_call);
  CHECK(alone->rank.argv == Args{"/usr/bin/python3", "train.py"});

  const job::Training bad = training_of(
      R"({"sagemaker_program": "t.py", "sagemaker_mpi_enabled": "true",
          "sagemaker_mpi_num_of_processes_per_host": "\"two\""})",
      "algo-1");
  CHECK(plan(bad, in_code()).error().code == Errc::invalid_input);
}

TEST_CASE("plan: as text it can be pasted, counts SM_* and masks secrets") {
  Inputs inputs = script("train.py");
  inputs.runner = Runner::mpi;
  inputs.custom_options = "-x WANDB_API_KEY=hunter2 -x FOO=bar";
  Options options = in_code();
  options.env = {{"PATH", "/bin"}, {"AWS_SECRET_ACCESS_KEY", "hunter3"}, {"hf_token", "hunter4"}};
  const Result<HostPlan> got = plan(inputs, options);
  REQUIRE(got);
  const std::string text = plan_text(*got);
  CAPTURE(text);
  for (const char* part :
       {"launcher: mpi, 1 of 1 ranks on this host\n", "leader runs: mpirun --host algo-1:1 -np 1 ",
        " -x FOO=bar ", "each rank runs: /usr/bin/python3 -m mpi4py train.py --lr 0.1 -n 'a b'\n",
        "in folder: /opt/ml/code\n", "from mpirun: FOO WANDB_API_KEY\n", "2 SM_* variables",
        "  PATH=/bin\n", "  AWS_SECRET_ACCESS_KEY='***'\n", "  hf_token='***'\n"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  CHECK(text.find("hunter") == std::string::npos);
  CHECK(text.find("SM_HOSTS") == std::string::npos);
  const std::string alone = plan_text(*plan(script("train.py"), in_code()));
  CHECK(alone.find("leader runs") == std::string::npos);
}

}  // namespace
}  // namespace muster::launch
