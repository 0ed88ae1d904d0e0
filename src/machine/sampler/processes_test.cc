#include "machine/sampler/processes.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "machine/sampler/py_spy.h"
#include "os/supervise/spawn.h"

namespace muster::sampler {
namespace {

/// A program that waits for its input's end, and goes with this.
class Waiting {
 public:
  explicit Waiting(Env env) : input_(*make_pipe()) {
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Command command{.argv = {"/bin/cat"}, .env = std::move(env), .cwd = "/"};
    pid_ = *supervise::spawn(command, {input_.read.get(), null.get(), null.get(), {}}, {});
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  Pipe input_;
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("processes: the traffic of a host's interfaces") {
  CHECK(net_bytes_in("Inter-| Receive | Transmit\n face |bytes packets\n"
                     "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
                     "  eth0: 100 1 0 0 0 0 0 0 23 1 0 0 0 0 0 0\n") == 123);
  CHECK(net_bytes_in("") == 0);
  CHECK(net_bytes_of(::getpid()) == -1);
}

TEST_CASE("processes: tasks by the variables of parameter servers") {
  using namespace std::string_literals;
  CHECK(task_in("A=1\0TF_CONFIG={\"task\": {\"type\": \"ps\", \"index\": 1}}\0"s) == "ps 1");
  CHECK(task_in("DMLC_ROLE=scheduler\0"s) == "scheduler");
  CHECK(task_in("TF_CONFIGS={}\0TF_CONFIG={\0"s).empty());
  CHECK(task_in("TF_CONFIG={\"task\": {\"type\": \"ps\\u001b\", \"index\": 1}}\0"s).empty());
  CHECK(task_in("TF_CONFIG={\"task\": {\"type\": \"ps\", \"index\": -1}}\0"s).empty());
  CHECK(task_in("TF_CONFIG={\"task\": 7}\0DMLC_ROLE=a b\0"s).empty());
}

TEST_CASE("processes: those below a process are found, with their rank and parent") {
  const Waiting first(Env{{"RANK", "7"}});
  const std::vector<Found> all = processes_below(::getpid(), "/no/such/program");
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Found& each) { return each.pid == first.pid(); });
  REQUIRE(found != all.end());
  CHECK(found->told.rank == 7);
  CHECK(found->told.pid == first.pid());
  CHECK(found->told.parent == ::getpid());
  CHECK(found->told.command == "/bin/cat");
  CHECK(!found->is_python);
  CHECK(found->told.started > 0);
  const std::vector<FoundThread> threads = threads_of(first.pid());
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].id == first.pid());
  CHECK(threads[0].number == first.pid());
  CHECK(threads[0].name == "cat");
  const std::vector<Found> others = processes_below(::getpid(), "/bin/cat");
  CHECK(std::none_of(others.begin(), others.end(),
                     [&](const Found& each) { return each.pid == first.pid(); }));
}

TEST_CASE("py-spy: its dump is read, the first thread first") {
  const auto threads = threads_from(R"([
    {"pid": 9, "thread_name": "loader", "os_thread_id": 12, "active": false, "frames": []},
    {"pid": 9, "thread_name": "MainThread", "os_thread_id": 9, "active": true, "frames": [
      {"name": "read", "filename": "/code/a.py", "line": 7},
      {"name": "<module>", "filename": "/code/a.py", "line": -3}]}])");
  REQUIRE(threads);
  REQUIRE(threads->size() == 2);
  CHECK(threads->at(0).number == 9);
  CHECK(threads->at(0).stack.runs);
  CHECK(threads->at(0).stack.calls ==
        std::vector<job::StackFrame>{{"read", "/code/a.py", 7}, {"<module>", "/code/a.py", 0}});
  CHECK(threads->at(1).stack.name == "loader");
  for (const char* bad : {"", "{}", "[1]", R"([{"frames": 3}])"}) CHECK(!threads_from(bad));
}

}  // namespace muster::sampler
