// What a host sees of the machine, what of it answers, and what it may take.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include <array>
#include <nlohmann/json.hpp>

#include "container/bundle/bundle.h"
#include "container/host_limits.h"
#include "machine/steward/test_job.h"
#include "net/addresses/interfaces.h"

namespace muster::steward {
namespace {

TEST_CASE("steward: a host sees its own world, the job's files and nothing secret") {
  SKIP_UNDER_THREAD_SANITIZER();
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.spec().input = {{"train", job.submitter() + "/data"}};
  job.spec().source_folder = job.submitter() + "/code";
  job.action("report");
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome == job::Outcome::exited(0));
  CHECK(job.phases("algo-1") ==
        Names{"Starting", "Downloading", "Training", "Uploading", "Completed"});
  const Result<Json> parsed = parse_json(job.lines("algo-1", 0));
  REQUIRE(parsed);
  const Json& report = *parsed;
  CHECK(report["hostname"] == "algo-1");
  CHECK(report["shadow"] == "(none)");
  CHECK(report["machine"] == Json::array());
  CHECK(split_words(report["ids"].get<std::string>()) ==
        Names{"0", std::to_string(first_id), "65536"});
  CHECK(report["ssh"] == Json::array());
  // The job's state is under /tmp in this test, of which a host has its own.
  CHECK(report["state"] == Json::array());
  CHECK(report["input"] == "input");
  CHECK(report["code"] == "code");
  CHECK(report["key"] == "secret");
  CHECK(report["bound"] == "bound");
  CHECK(report["config"].get<std::string>().find("\"current_host\":\"algo-1\"") !=
        std::string::npos);
  CHECK(report["links"].size() == 2);
  CHECK(report["fds"] == 5);  // 0 to 2, the steward's stream, and the folder being read.
  CHECK(report["stdout"] == true);
  // A process that held its other end could outlive the steward.
  CHECK(report["lifeline"] == false);
  CHECK(report["unshare"] == EPERM);
  CHECK(report["mount"] == EPERM);
  CHECK(report["writes"] == true);
  // What it wrote stays its own, but for its results.
  CHECK(!fs::exists("/etc/muster-was-here"));
  CHECK(*read_file(job.submitter() + "/data/file") == "input");
  CHECK(!fs::exists(job.submitter() + "/code/new"));
  CHECK(*read_file(job.folder("algo-1") + "/result/model/algo-1") == "weights");
  CHECK(*read_file(job.folder("algo-1") + "/result/output/failure") == "none");
  CHECK(job.lines("algo-1", -1) == "a line of train's own\nunfinished\n");
  CHECK(job.left() == none);
  CHECK(!job.folders_left("algo-1"));
}

/// The machine's own IPv4 addresses, loopback and the job's subnet included.
std::vector<std::string> machine_addresses(const std::string& subnet) {
  std::vector<std::string> found{"127.0.0.1", subnet + "254", subnet + "255"};
  const Result<std::vector<InterfaceAddress>> own = interface_addresses();
  REQUIRE(own);
  for (const InterfaceAddress& each : *own)
    if (each.is_v4) found.push_back(each.address);
  return found;
}

TEST_CASE("steward: nothing of the machine answers a host, whatever it listens on") {
  SKIP_UNLESS_HOSTS_RUN();
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof(any);
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), length) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&any), &length) == 0);
  TestJob job(1);
  job.action("knock");
  job.spec().environment["TEST_PORT"] = std::to_string(ntohs(any.sin_port));
  std::string& addresses = job.spec().environment["TEST_ADDRESSES"];
  for (const std::string& address : machine_addresses(job.subnet()))
    addresses += (addresses.empty() ? "" : " ") + address;
  CHECK(job.run("algo-1") == 0);
  CHECK(job.lines("algo-1", 0) == "knocked\n");
}

TEST_CASE(
    "steward: a job gets less than the machine has, and is the first to be killed without memory") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("wait");
  const pid_t steward = job.start("algo-1");
  job.wait_for_line("algo-1", "waiting");
  const container::MachineSize machine = *container::machine_size();
  const container::JobLimits limits = container::job_limits(machine);
  int found = 0;
  for (const std::string& root : container::cgroup_roots())
    for (const std::string& path :
         {std::string(container::jobs_cgroup), container::job_cgroup_path(job.host_spec("algo-1"))})
      for (const char* file : {"/pids.max", "/memory.max", "/memory.limit_in_bytes"}) {
        const Result<std::string> text = read_file(root + path + file);
        if (!text || trim(*text) == "max") continue;
        const std::int64_t value = parse_integer(trim(*text)).value_or(0);
        CHECK(value <= (file == std::string("/pids.max") ? limits.processes : limits.memory_bytes));
        ++found;
      }
  CHECK(found == 4);
  const std::string score = "/proc/" + std::to_string(job.init_pid("algo-1")) + "/oom_score_adj";
  CHECK(trim(*read_file(score)) == "500");
  ::kill(steward, SIGTERM);
  CHECK(job.wait(steward) == 0);
  CHECK(job.left() == none);
}

}  // namespace
}  // namespace muster::steward
