#include "platform/stack_tree.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

using job::HostStacks;
using job::ProcessStacks;

job::ThreadStack thread(std::vector<std::string> outermost_first, bool runs = false,
                        const std::string& name = "MainThread") {
  job::ThreadStack thread{.name = name, .runs = runs, .calls = {}};
  for (const std::string& each : outermost_first)
    thread.calls.insert(thread.calls.begin(), {each, "/opt/ml/code/train.py", 1});
  return thread;
}

ProcessStacks process(std::int64_t pid, int rank, std::vector<job::ThreadStack> threads) {
  ProcessStacks process;
  process.pid = pid;
  process.rank = rank;
  process.command = "python train.py";
  process.threads = std::move(threads);
  return process;
}

/// Two hosts with two ranks each; rank 2 reads while all others are in a barrier.
std::vector<HostStacks> barrier() {
  const auto waits = thread({"<module>", "main", "barrier"}, true);
  std::vector<HostStacks> hosts(2);
  hosts[0].host = "algo-1";
  hosts[0].processes = {process(10, 0, {waits}), process(11, 1, {waits})};
  hosts[1].host = "algo-2";
  hosts[1].processes = {process(10, 2, {thread({"<module>", "main", "read"})}),
                        process(11, 3, {waits})};
  hosts[1].processes[0].waits_in = "pipe_read";
  return hosts;
}

TEST_CASE("stacks: within a call that waits ranks are where they are") {
  std::vector<HostStacks> hosts(1);
  hosts[0].host = "algo-1";
  for (int rank = 0; rank < 3; ++rank) {
    job::ThreadStack spins{.name = "still", .runs = true, .calls = {}};
    if (rank > 0) spins.calls.push_back({"poll_" + std::to_string(rank), "/lib/libopen-pal.so"});
    spins.calls.push_back({rank < 2 ? "MPI_Barrier" : "work", "/lib/libmpi.so.40"});
    spins.calls.push_back({"main", "/opt/ml/code/still"});
    hosts[0].processes.push_back(process(10 + rank, rank, {spins}));
  }
  CHECK(stack_text(hosts) ==
        "ranks 0-2\n  main  still\n  ranks 0-1\n    MPI_Barrier  libmpi.so.40\n    (runs)\n  rank "
        "2  <- stuck in a different place than most\n    work  libmpi.so.40\n    poll_2  "
        "libopen-pal.so\n    "
        "(runs)\n");
}

}  // namespace

TEST_CASE("stack tree: one tree of all ranks, with the outliers") {
  const std::vector<HostStacks> hosts = barrier();
  const std::vector<Stander> all = standers_of(hosts);
  REQUIRE(all.size() == 4);
  CHECK(names_of(all, odd_ones(all)) == "rank 2");
  CHECK(stack_text(hosts) == R"(ranks 0-3
  <module>  train.py:1
  main  train.py:1
  ranks 0-1,3
    barrier  train.py:1
    (runs)
  rank 2  <- stuck in a different place than most
    read  train.py:1
    (waits in pipe_read)
)");
}

TEST_CASE("stack tree: its headline counts ranks, else processes, their hosts and places") {
  std::vector<HostStacks> hosts = barrier();
  CHECK(stack_headline(hosts) == "4 ranks on 2 hosts, at 2 places");
  hosts.pop_back();
  hosts[0].processes.pop_back();
  CHECK(stack_headline(hosts) == "1 rank on 1 host, at 1 place");
  hosts[0].processes = {process(10, -1, {thread({"main"})})};
  CHECK(stack_headline(hosts) == "1 process on 1 host, at 1 place");
  hosts[0].processes.push_back(process(11, -1, {thread({"main", "read"})}));
  CHECK(stack_headline(hosts) == "2 processes on 1 host, at 2 places");
}

TEST_CASE("stack tree: ranks that wait for their GPUs, and what NCCL says of it") {
  using Collectives = job::NcclReport::Collectives;
  const auto native = [](const char* name) {
    job::ThreadStack stack{.name = "python3", .runs = true, .calls = {}};
    stack.calls = {
        {"0x7f12", "/lib/libcuda.so.1"}, {name, "/lib/libcuda.so.1"}, {"main", "t.py", 9}};
    return stack;
  };
  std::vector<HostStacks> hosts(2);
  hosts[0].host = "algo-1";
  hosts[1].host = "algo-2";
  hosts[0].processes = {process(5, 0, {native("cuStreamSynchronize")}),
                        process(6, 1, {native("cuLaunchKernel")})};
  hosts[1].processes = {process(5, 2, {native("cudaMemcpyAsync"), native("cuCtxSynchronize_v2")})};
  hosts[1].processes[0].threads[1].name = "pt_autograd_0";
  CHECK(gpu_wait_text(hosts) ==
        "ranks 0,2 wait for the GPU; whether in a collective operation or in another kernel is "
        "unknown");
  hosts[0].nccl.collectives = Collectives::none;
  CHECK(gpu_wait_text(hosts) ==
        "ranks 0,2 wait for the GPU, in a kernel or a transfer: no rank has started a collective "
        "operation");
  hosts[1].nccl = {Collectives::open,
                   {"communicator 0x661f54ebfce2b8f8 of 4 ranks: AllReduce: ranks 0-2 started 11, "
                    "rank 3 started 10"}};
  hosts[0].nccl.lines = hosts[1].nccl.lines;
  hosts[1].processes.clear();
  CHECK(gpu_wait_text(hosts) ==
        "rank 0 waits for the GPU, in a collective operation that not all ranks have started");
  CHECK(stack_text(hosts).ends_with(
      "NCCL: communicator 0x661f54ebfce2b8f8 of 4 ranks: AllReduce: ranks 0-2 started 11, rank 3 "
      "started 10\n"));
  // PyTorch's Flight Recorder says it, too.
  hosts[0].nccl = hosts[1].nccl = {};
  using State = job::Flight::State;
  hosts[0].flights = {{0, "0 (default_pg)", 4, "all_reduce", 12, State::started},
                      {1, "0 (default_pg)", 4, "all_reduce", 12, State::started}};
  CHECK(gpu_wait_text(hosts) == "rank 0 waits for the GPU, in a collective operation");
  hosts[1].flights = {{2, "0 (default_pg)", 4, "all_reduce", 12, State::started},
                      {3, "0 (default_pg)", 4, "all_reduce", 11, State::completed}};
  CHECK(gpu_wait_text(hosts) ==
        "rank 0 waits for the GPU, in a collective operation that not all ranks have started");
  CHECK(stack_text(hosts).ends_with(
      "Flight Recorder: group 0 (default_pg) of 4 ranks: ranks 0-2 wait in all_reduce 12, rank 3 "
      "completed all_reduce 11\n"));
  // A line of PyTorch's own that waits; a function of the program that only has such a name.
  hosts[0].processes = {process(5, 0, {thread({"main", "cudaStreamSynchronize"})})};
  CHECK(gpu_wait_text(hosts).empty());
  hosts[0].processes[0].threads[0].calls = {{"synchronize", "/p/torch/cuda/__init__.py", 900}};
  CHECK(gpu_wait_text(hosts).starts_with("rank 0 waits for the GPU, in"));
}

TEST_CASE("stack tree: without a majority there are no outliers") {
  std::vector<HostStacks> hosts = barrier();
  hosts[0].processes[0].threads = hosts[1].processes[0].threads;
  CHECK(odd_ones(standers_of(hosts)).empty());
  CHECK(odd_ones({}).empty());
  CHECK(stack_text({}).empty());
}

TEST_CASE("stack tree: other threads and children have separate trees") {
  std::vector<HostStacks> hosts = barrier();
  hosts[0].processes[0].threads.insert(hosts[0].processes[0].threads.begin(),
                                       thread({"run", "get"}, false, "loader"));
  ProcessStacks child = process(20, 0, {thread({"worker"})});
  child.parent = 10;
  hosts[0].processes.push_back(child);
  hosts[1].trouble = "only 2 of 900 processes are shown";
  const std::string text = stack_text(hosts);
  CHECK(text.find("other threads\n  rank 0\n    run  train.py:1\n    get  train.py:1\n") !=
        std::string::npos);
  CHECK(text.find("processes that they started\n  rank 0\n    worker  train.py:1\n") !=
        std::string::npos);
  CHECK(text.ends_with("algo-2: only 2 of 900 processes are shown\n"));
  CHECK(names_of(standers_of(hosts), odd_ones(standers_of(hosts))) == "rank 2");
}

TEST_CASE("stack tree: a job without ranks names its hosts and programs") {
  std::vector<HostStacks> hosts(2);
  hosts[0].host = "algo-1";
  hosts[0].processes = {process(5, -1, {thread({"serve"})})};
  hosts[1].host = "algo-2";
  hosts[1].processes = {process(5, -1, {thread({"work"})}), process(6, -1, {})};
  hosts[1].processes[1].trouble = "py-spy: not found";
  CHECK(stack_text(hosts) == R"(algo-1
  serve  train.py:1
  (waits)
algo-2: python train.py
  work  train.py:1
  (waits)
algo-2: python train.py
  (py-spy: not found)
)");
}

TEST_CASE("stack tree: a stopped process is the odd one, whatever others do") {
  std::vector<HostStacks> hosts = barrier();
  hosts[1].processes[1].stopped = true;
  CHECK(names_of(standers_of(hosts), odd_ones(standers_of(hosts))) == "rank 3");
  hosts[0].processes[0].threads = hosts[1].processes[0].threads;  // No place has a majority.
  CHECK(names_of(standers_of(hosts), odd_ones(standers_of(hosts))) == "rank 3");
  for (HostStacks& host : hosts)
    for (ProcessStacks& each : host.processes) each.stopped = true;
  CHECK(odd_ones(standers_of(hosts)).empty());
}

TEST_CASE("stack tree: tasks count like ranks, and the frames around them don't") {
  std::vector<HostStacks> hosts(1);
  hosts[0].host = "algo-1";
  hosts[0].processes = {process(5, -1, {}), process(6, -1, {thread({"recv"})}),
                        process(7, -1, {thread({"accept"})})};
  hosts[0].processes[1].task = "worker 0";
  hosts[0].processes[2].task = "ps 0";
  hosts[0].processes[2].stopped = true;
  CHECK(stack_text(hosts) == R"(worker 0 on algo-1
  recv  train.py:1
  (waits)
ps 0 on algo-1  <- stopped by a signal
  accept  train.py:1
  (stopped by a signal)
)");
}

}  // namespace muster::platform
