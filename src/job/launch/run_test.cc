#include <doctest/doctest.h>

#include "job/launch/operators_testing.h"
#include "job/launch/site.h"

namespace muster::launch {
namespace {

TEST_CASE("run: the unchanged command, once on every host, with the host's number") {
  const Env env = {{"PATH", "/bin"}, {"RANK", "7"}, {"TF_CONFIG", "own"}};
  struct {
    const char* name;
    int hosts;
    int self;
    Args argv;
    int rank;
    bool roll_call;
  } const cases[] = {
      {"one host", 1, 1, {"true"}, 0, false},
      {"first of two", 2, 1, {"true"}, 0, true},
      {"second of two", 2, 2, {"true"}, 1, true},
      {"last of twelve", 12, 12, {"true"}, 11, true},
      {"arguments", 2, 1, {"./a.sh", "x", "y"}, 0, true},
      {"space", 2, 1, {"a b", "c d"}, 0, true},
      {"empty argument", 2, 1, {"a", ""}, 0, true},
      {"newline", 2, 1, {"a", "b\nc"}, 0, true},
      {"colon and equals sign", 2, 1, {"a", ":", "b=c", "-x", "N=V"}, 0, true},
      {"shell text", 2, 1, {"sh", "-c", "echo $HOME; exit 3"}, 0, true},
      {"flags of ours", 2, 1, {"a", "--print-plan", "--", "--help"}, 0, true},
      {"quotes", 2, 1, {"a", "'\"`\\"}, 0, true},
      {"no UTF-8", 2, 1, {"a", "\xff\xfe"}, 0, true},
      {"a Python script stays what it is", 2, 1, {"train.py"}, 0, true},
      {"an option for a command", 2, 1, {"-c"}, 0, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Command command{c.argv, env, "/work"};
    const Result<HostPlan> plan = plan_run({command}, hosts_of(c.hosts, c.self));
    REQUIRE(plan);
    CHECK(plan->launcher == Launcher::direct);
    REQUIRE(plan->programs.size() == 1);
    CHECK(plan->programs[0].command == command);
    CHECK(plan->programs[0].name == c.argv[0]);
    CHECK(plan->programs[0].rank == c.rank);
    CHECK(plan->programs[0].decides);
    CHECK(plan->ranks_here == 1);
    CHECK(plan->ranks_total == c.hosts);
    CHECK(plan->roll_call == c.roll_call);
    CHECK(plan->hosts.size() == static_cast<std::size_t>(c.hosts));
  }
}

TEST_CASE("run: an invalid request is refused in one line") {
  Site twice = hosts_of(3);
  twice.hosts[2].name = "algo-2";
  Site stranger = hosts_of(2);
  stranger.self = "algo-9";
  Site odd = hosts_of(1);
  odd.self = "\xff";
  struct {
    const char* name;
    Site site;
    Args argv;
    const char* want;
  } const cases[] = {
      {"no command", hosts_of(2), {}, "expected a command to run"},
      {"empty command", hosts_of(2), {""}, "expected a command to run"},
      {"a host twice", twice, {"a"}, "host \"algo-2\" appears twice among the job's hosts"},
      {"not among the hosts",
       stranger,
       {"a"},
       "this host, \"algo-9\", is not among the job's hosts"},
      {"no hosts", {}, {"a"}, "this host, \"\", is not among the job's hosts"},
      {"no UTF-8", odd, {"a"}, "this host, \"\xef\xbf\xbd\", is not among the job's hosts"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<HostPlan> plan = plan_run({Command{c.argv, {}, ""}}, c.site);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == Errc::invalid_input);
    CHECK(plan.error().text == c.want);
  }
}

TEST_CASE("operators: every host gets as many processes where all have as many GPUs") {
  struct {
    const char* name;
    std::vector<int> gpus;
    int want;
    const char* error;
  } const cases[] = {
      {"none", {0, 0, 0}, 1, ""},
      {"four each", {4, 4}, 4, ""},
      {"one alone", {8}, 8, ""},
      {"none among some", {4, 4, 0}, 0, "algo-1 has 4 GPUs, algo-3 has no GPUs; set --p"},
      {"some among none", {0, 1}, 0, "algo-1 has no GPUs, algo-2 has 1 GPU; set --p"},
      {"more and fewer", {8, 4}, 0, "algo-1 has 8 GPUs, algo-2 has 4 GPUs; set --p"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<int> got = even_processes(site_of(c.gpus, "algo-1"), "--p");
    REQUIRE(got.has_value() == (c.want > 0));
    if (got) CHECK(*got == c.want);
    if (!got) CHECK(got.error().text == c.error);
  }
}

TEST_CASE("operators: GPUs are split in equal runs, or go round") {
  struct {
    int gpus, sharers;
    Args want;
  } const cases[] = {
      {1, 1, {"0"}},
      {2, 2, {"0", "1"}},
      {8, 2, {"0,1,2,3", "4,5,6,7"}},
      {8, 3, {"0,1", "2,3,4", "5,6,7"}},
      {4, 3, {"0", "1", "2,3"}},
      {1, 2, {"0", "0"}},
      {2, 5, {"0", "1", "0", "1", "0"}},
  };
  for (const auto& c : cases)
    for (int n = 0; n < c.sharers; ++n)
      CHECK(share_of_gpus(c.gpus, n, c.sharers) == c.want[static_cast<std::size_t>(n)]);
}

TEST_CASE("plan: a host's own command is shown with the plan's changes, secrets masked") {
  HostPlan plan;
  plan.launcher = Launcher::direct;
  plan.rank = {{"train.py"}, {{"HOME", "/root"}, {"PET_NNODES", "3"}}, "/opt/ml/code"};
  plan.ranks_here = 2;
  plan.ranks_total = 5;
  plan.roll_call = true;
  const Env env = {{"HOME", "/root"}, {"RANK", "1"}, {"API_KEY", "hush"}};
  plan.programs.push_back({"worker 1", 1, {{"python", "train.py", "a b"}, env, "/opt/ml/code"}});
  plan.programs.push_back({"ps 0", 3, {{"python", "train.py"}, {}, "/opt/ml/code"}, false});
  CHECK(plan_text(plan) ==
        "launcher: direct, 2 of 5 programs on this host, after the roll call of all hosts\n"
        "worker 1 runs: python train.py 'a b'\n"
        "  API_KEY='***'\n"
        "  RANK=1\n"
        "  without PET_NNODES\n"
        "ps 0 (terminated once the programs that decide have exited) runs: python train.py\n"
        "  without HOME\n"
        "  without PET_NNODES\n"
        "in folder: /opt/ml/code\n");
  plan.programs.clear();
  CHECK(plan_text(plan).find("\nnothing runs on this host\n") != std::string::npos);
}

}  // namespace
}  // namespace muster::launch
