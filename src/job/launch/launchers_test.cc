#include "job/launch/launchers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "job/launch/operators_testing.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

TEST_CASE("launchers: each has a unique name, and a plan or an operator") {
  std::set<std::string_view> names, operators;
  for (const LauncherRow& row : launchers()) {
    CAPTURE(std::string(row.name));
    CHECK(names.insert(row.name).second);
    CHECK((row.plan != nullptr || !row.operators.empty()));
    CHECK(row.needs.module.empty() == row.needs.install.empty());
    for (const Operator& each : row.operators) {
      CHECK(operators.insert(each.name).second);
      CHECK(operator_named(each.name).launcher == &row);
      CHECK(operator_named(each.name).found == &each);
    }
  }
  CHECK(operator_named("tf").found == nullptr);
}

TEST_CASE("launchers: a hyperparameter that asks for one makes a job distributed") {
  const std::vector<std::string_view>& known = job::distribution_parameters();
  int asked = 0;
  for (const LauncherRow& row : launchers()) {
    if (row.hyperparameter.empty()) continue;
    CAPTURE(std::string(row.name));
    CHECK(std::find(known.begin(), known.end(), row.hyperparameter) != known.end());
    CHECK(launcher_of({row.name}).name == row.name);
    ++asked;
  }
  CHECK(asked >= 2);
}

TEST_CASE("launchers: a flag sends a hyperparameter that makes a job distributed") {
  const std::vector<std::string_view>& known = job::distribution_parameters();
  std::set<std::string_view> flags;
  for (const LauncherRow& row : launchers()) {
    CAPTURE(std::string(row.name));
    CHECK(row.asked.flag.empty() == row.asked.hyperparameter.empty());
    if (row.asked.flag.empty()) continue;
    CHECK(flags.insert(row.asked.flag).second);
    CHECK(std::find(known.begin(), known.end(), row.asked.hyperparameter) != known.end());
    CHECK((row.hyperparameter.empty() || row.hyperparameter == row.asked.hyperparameter));
  }
  CHECK(flags == std::set<std::string_view>{"--mpi", "--torchrun", "--tf", "--mxnet"});
}

TEST_CASE("launchers: a runner is one with a plan, by its name") {
  CHECK(*runner_named("mpi") == Runner::mpi);
  CHECK(*runner_named("pytorch_xla") == Runner::pytorch_xla);
  CHECK(launcher_of(Runner::torch_distributed).name == "torch_distributed");
  for (const char* name : {"", "mxnet", "run", "MPI"}) {
    CAPTURE(name);
    const Result<Runner> runner = runner_named(name);
    REQUIRE(!runner);
    CHECK(runner.error().code == Errc::invalid_input);
    CHECK(runner.error().text.starts_with("\"" + std::string(name) +
                                          "\"; expected process, mpi, smdataparallel, "));
  }
}

TEST_CASE("launchers: a line's flags reach the planner that its operator names") {
  struct {
    const char* name;
    Env flags;
    Args program;
    int ranks_total;
    int ports;
    bool direct;
  } const cases[] = {
      {"run", {}, {"a"}, 2, 0, false},
      {"torchrun", {}, {"a.py"}, 2, 1, false},
      {"torchrun", {{"--nproc-per-node", "3"}}, {"--max-restarts", "2", "a.py"}, 6, 1, false},
      {"torchrun",
       {{"--nproc-per-node", "2"}, {"--launcher", "direct"}},
       {"-m", "mod"},
       4,
       1,
       true},
      {"tf multi-worker", {{"--num-workers", "3"}}, {"a.py"}, 3, 2, false},
      {"tf run-distributed-training", {}, {"a.py"}, 3, 1, false},
      {"tf run-distributed-training",
       {{"--num-parameter-servers", "2"}, {"--chief", ""}, {"--evaluator", ""}},
       {"a.py"},
       6,
       3,
       false},
      {"mxnet run", {{"--num-servers", "1"}, {"--num-workers", "4"}}, {"a.py"}, 6, 1, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Operator* found = operator_named(c.name).found;
    REQUIRE(found != nullptr);
    const Result<Operation> operation =
        found->read({c.flags, "python3", "/bin/sm", {c.program, {}, "/w"}});
    REQUIRE(operation);
    CHECK(operation->ports({"algo-1", "algo-2"}, "algo-1") == c.ports);
    CHECK(operation->direct == c.direct);
    const Result<HostPlan> plan = operation->plan(hosts_of(2));
    REQUIRE(plan);
    CHECK(plan->ranks_total == c.ranks_total);
  }
}

TEST_CASE("launchers: torchrun's options without a script are reported") {
  const Result<Operation> operation =
      read_torchrun({{}, "python3", "/bin/sm", {{"--max-restarts", "2"}, {}, "/w"}});
  REQUIRE(!operation);
  CHECK(operation.error().text == "expected a script to run");
}

}  // namespace
}  // namespace muster::launch
