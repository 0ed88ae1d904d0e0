#include "job/wire/stacks.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

HostStacks some(std::size_t processes, std::size_t calls) {
  HostStacks stacks{.host = "algo-1", .processes = {}, .trouble = ""};
  for (std::size_t i = 0; i < processes; ++i) {
    ProcessStacks process;
    process.pid = 10 + static_cast<std::int64_t>(i);
    process.parent = 9;
    process.rank = static_cast<int>(i);
    process.command = "python train.py";
    process.waits_in = "futex_wait_queue";
    process.started = 77;
    process.cpu_ms = 1234;
    process.io_bytes = 5;
    process.faults = 6;
    ThreadStack thread{.name = "MainThread", .runs = true, .calls = {}};
    for (std::size_t k = 0; k < calls; ++k)
      thread.calls.push_back({"step", "/opt/ml/code/train.py", static_cast<int>(k) + 1});
    process.threads = {thread, {.name = "loader", .runs = false, .calls = {}}};
    stacks.processes.push_back(process);
  }
  return stacks;
}

}  // namespace

TEST_CASE("stacks: encoded ones are decoded again") {
  HostStacks stacks = some(3, 4);
  stacks.net_bytes = 99;
  stacks.processes[0].moves = true;
  stacks.processes[1].trouble = "py-spy: no such process";
  stacks.processes[2].rank = -1;
  stacks.processes[2].task = "ps 1";
  stacks.processes[2].stopped = true;
  const Result<HostStacks> read = host_stacks_from(encode(stacks));
  REQUIRE(read);
  CHECK(*read == stacks);
}

TEST_CASE("stacks: parts that do not fit are left out, and that is said") {
  const HostStacks many = some(stack_processes_max + 10, 1);
  const Result<HostStacks> read = host_stacks_from(encode(many));
  REQUIRE(read);
  CHECK(read->processes.size() == stack_processes_max);
  CHECK(read->trouble == "only 256 of 266 processes are shown");

  HostStacks wide = some(200, stack_calls_max + 50);
  for (ProcessStacks& process : wide.processes)
    process.threads.resize(stack_threads_max + 1, process.threads[0]);
  const std::string encoded = encode(wide);
  CHECK(encoded.size() <= host_stacks_bytes_max);
  const Result<HostStacks> part = host_stacks_from(encoded);
  REQUIRE(part);
  REQUIRE(!part->processes.empty());
  CHECK(part->processes.size() < 200);
  CHECK(part->processes[0].threads.size() == stack_threads_max);
  CHECK(part->processes[0].threads[0].calls.size() == stack_calls_max);
}

TEST_CASE("stacks: a thread moves when its calls change, or the lines of all but the innermost") {
  const ThreadStack before{.name = "", .runs = true, .calls = {{"f", "a", 1}, {"g", "a", 2}}};
  const auto same = [&](std::vector<StackFrame> calls) {
    return same_place(before, {.name = "", .runs = true, .calls = std::move(calls)});
  };
  CHECK(same({{"f", "a", 9}, {"g", "a", 2}}));
  CHECK(!same({{"f", "a", 1}, {"g", "a", 3}}));
  CHECK(!same({{"h", "a", 1}, {"g", "a", 2}}));
  CHECK(!same({{"f", "a", 1}}));
}

TEST_CASE("stacks: a request is read back unchanged") {
  for (const Calls calls : {Calls::python, Calls::native, Calls::moves})
    CHECK(calls_from(encode(calls)) == calls);
  CHECK(calls_from("") == Calls::python);
  CHECK(calls_from(R"({"calls":7})") == Calls::python);
}

TEST_CASE("stacks: malformed ones are refused") {
  for (const char* text : {"", "[]", R"({"processes":[3]})", R"({"host":7})",
                           R"({"processes":[{"pid":"x"}]})", R"({"processes":[{"threads":[1]}]})",
                           R"({"processes":[{"threads":[{"calls":[{"line":"x"}]}]}]})"})
    CHECK_MESSAGE(!host_stacks_from(text), text);
  const Result<HostStacks> odd =
      host_stacks_from(R"({"host":"algo-1","processes":[{"rank":9999999999,"threads":{}}]})");
  REQUIRE(odd);
  CHECK(odd->processes[0].rank == -1);
}

TEST_CASE("stacks: the outermost native call that waits, and what it calls") {
  const auto named = [](std::vector<StackFrame> calls) { return calls_that_wait(calls); };
  CHECK(named({{"poll", ""}, {"PMPI_Recv", ""}, {"MPI_Barrier", ""}, {"main", ""}}) == 3);
  CHECK(named({{"sched_yield", ""}, {"main", ""}}) == 1);
  CHECK(named({{"work", ""}, {"main", ""}}) == 0);
  CHECK(named({{"MPI_Recv", "a.py", 7}, {"main", ""}}) == 0);
  CHECK(named({{"kernel", ""}, {"mpi_worker", ""}, {"main", ""}}) == 0);
  CHECK(named({{"kernel", ""}, {"nccl_loop", ""}, {"main", ""}}) == 0);
  CHECK(named({{"poll", ""}, {"mpi_barrier_f08_", ""}, {"main", ""}}) == 2);
  CHECK(named({{"poll", ""}, {"ncclGroupEnd", ""}, {"main", ""}}) == 2);
  CHECK(named({}) == 0);
}

TEST_CASE("stacks: by what is known of native calls threads stand at one place, or not") {
  ThreadStack before{.name = "", .calls = {{"poll", ""}}};
  ThreadStack after{.name = "", .calls = {{"other", ""}}};
  CHECK(!same_place(before, after));
  before.place = after.place = 5;
  CHECK(same_place(before, after));
  before.state = 7;
  CHECK(same_place(before, after));
  after.state = 8;
  CHECK(!same_place(before, after));
  after.state = 7;
  after.place = 6;
  CHECK(!same_place(before, after));
}

}  // namespace muster::job
