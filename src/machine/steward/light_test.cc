// Light hosts, from their specification to their end: as root, and as an ordinary user.

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "container/bundle/light_host.h"
#include "machine/housing/housing.h"
#include "machine/steward/test_job.h"
#include "os/supervise/start_steward.h"

namespace muster::steward {
namespace {

using namespace std::chrono_literals;

constexpr uid_t nobody = 65534;

/// True if the ordinary user `uid` gets namespaces here and reaches this test program.
bool user_can(uid_t uid) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool is_user = ::setgroups(0, nullptr) == 0 && ::setgid(uid) == 0 && ::setuid(uid) == 0;
    const bool reaches = ::access("/proc/self/exe", X_OK) == 0;
    ::_exit(is_user && reaches && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

std::vector<uid_t> users() {
  if (::geteuid() != 0) return {};
  if (!user_can(nobody)) {
    MESSAGE("skipped for ordinary users: no namespaces for them here");
    return {0};
  }
  return {0, nobody};
}

TEST_CASE("light host: it sees the job's files at their places on its machine") {
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    TestJob job(1);
    job.light(uid);
    job.spec().input = {{"train", job.submitter() + "/data"}};
    job.spec().source_folder = job.submitter() + "/code";
    job.action("light");
    CHECK(job.run("algo-1") == 0);
    const job::HostEnd end = job.end("algo-1");
    CHECK(end.outcome == job::Outcome::exited(0));
    CHECK(job.phases("algo-1") ==
          Names{"Starting", "Downloading", "Training", "Uploading", "Completed"});
    const Result<Json> parsed = parse_json(job.lines("algo-1", 0));
    REQUIRE_MESSAGE(parsed, end.outcome.text);
    const Json& report = *parsed;
    CHECK(report["hostname"] == "algo-1");
    CHECK(report["hosts"].get<std::string>().find("127.0.0.1 algo-1\n") != std::string::npos);
    CHECK(report["config"].get<std::string>().find("\"network_interface_name\":\"lo\"") !=
          std::string::npos);
    CHECK(report["input"] == "input");
    CHECK(report["code"] == "code");
    CHECK(report["key"] == "secret");
    CHECK(report["bound"] == "bound");  // In the machine's /tmp, and named by the job.
    CHECK(report["tmp"] == Json::array({job.submitter().substr(5)}));
    CHECK(report["pid"] == 1);
    CHECK(report["uid"] == uid);
    CHECK(report["oom"] == "0\n");
    CHECK(report["fds"] == 5);  // 0 to 2, the steward's stream, and the folder being read.
    CHECK(report["lifeline"] == false);
    CHECK(report["writes"] == true);
    CHECK(report["env"]["MUSTER_ROLLCALL_PORT"] == "20001");
    CHECK(report["env"]["CUDA_VISIBLE_DEVICES"] == "3");
    CHECK(report["env"]["MUSTER_NUM_GPUS"] == "1");
    CHECK(report["env"]["USER"] == "ann");
    CHECK(report["env"]["PATH"].get<std::string>().find("/run/muster/bin:") == 0);
    for (const char* name : {"SLURM_JOB_ID", "PMI_RANK", "OMPI_COMM_WORLD_SIZE"})
      CHECK(!report["env"].contains(name));
    CHECK(*read_file(job.submitter() + "/data/file") == "input");
    CHECK(*read_file(job.folder("algo-1") + "/result/model/algo-1") == "weights");
    CHECK(*read_file(job.folder("algo-1") + "/result/output/failure") == "none");
    CHECK(!fs::exists("/tmp/mine"));
    CHECK(!fs::exists("/dev/shm/mine"));
    CHECK(job.left() == none);
    CHECK(!job.folders_left("algo-1"));
  }
}

/// Processes of the machine that have `text` in their environment.
int processes_with(const std::string& text) {
  int count = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator("/proc", code))
    if (read_file(entry.path() / "environ").value_or("").find(text) != std::string::npos) ++count;
  return count;
}

TEST_CASE("light host: a stop has its grace, a second one kills") {
  for (const uid_t uid : users()) {
    for (const bool twice : {false, true}) {
      CAPTURE(uid);
      CAPTURE(twice);
      TestJob job(1);
      job.light(uid);
      job.action(twice ? "ignore" : "wait");
      const pid_t steward = job.start("algo-1");
      job.wait_for_line("algo-1", "waiting");
      loop::Loop loop;
      REQUIRE(await(loop, supervise::ask_steward_to_stop(loop, job.folder("algo-1"), 20s)));
      if (twice)
        REQUIRE(await(loop, supervise::ask_steward_to_stop(loop, job.folder("algo-1"), 0s)));
      CHECK(job.wait(steward) == 0);
      const job::Outcome outcome = twice ? job::Outcome::signaled(9) : job::Outcome::exited(143);
      CHECK(job.end("algo-1") == job::HostEnd{"algo-1", outcome, false, true});
      CHECK(job.left() == none);
      CHECK(processes_with("TEST_STATE=" + job.state()) == 0);
    }
  }
}

TEST_CASE("light host: when the lifeline ends, nothing is left, not even the folder") {
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    TestJob job(2, "muster-0123456789abcdef/run");  // As on a node, whose daemon is killed here.
    job.light(uid);
    job.action("ignore");
    Pipe lifeline = *make_pipe();
    const pid_t first = job.start("algo-1", &lifeline);
    const pid_t second = job.start("algo-2", &lifeline);
    job.wait_for_line("algo-1", "waiting");
    job.wait_for_line("algo-2", "waiting");
    CHECK(processes_with("TEST_STATE=" + job.state()) > 0);
    lifeline.write.reset();
    CHECK(job.wait(first) == 0);
    CHECK(job.wait(second) == 0);
    CHECK(processes_with("TEST_STATE=" + job.state()) == 0);
    CHECK(!fs::exists(fs::path(job.folder()).parent_path()));
  }
}

TEST_CASE("light host: a killed steward takes its processes along") {
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    TestJob job(1);
    job.light(uid);
    job.action("ignore");
    const pid_t steward = job.start("algo-1");
    job.wait_for_line("algo-1", "waiting");
    ::kill(steward, SIGKILL);
    CHECK(job.wait(steward) == 137);
    const TimePoint deadline = Clock::now() + guard;
    while (processes_with("TEST_STATE=" + job.state()) > 0 && Clock::now() < deadline)
      ::sched_yield();
    CHECK(processes_with("TEST_STATE=" + job.state()) == 0);
  }
}

TEST_CASE("light host: without a process namespace its processes are ended one by one") {
  SKIP_UNDER_THREAD_SANITIZER();
  if (users().empty()) return;
  TestJob job(1);
  job.light();
  job.refuse("max_pid_namespaces", 0);
  job.action("light");
  job.spec().entrypoint = {"/bin/sh", "-c", "exec /run/muster/bin/train 3>/run/muster/stream"};
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome == job::Outcome::exited(0));
  const Result<Json> report = parse_json(job.lines("algo-1", 0));
  REQUIRE(report);
  CHECK((*report)["pid"] != 1);
  CHECK(processes_with("TEST_STATE=" + job.state()) == 0);
  CHECK(job.left() == none);
}

TEST_CASE("light host: its exact end is reported") {
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    TestJob job(1);
    job.light(uid);
    job.action("exit7");
    CHECK(job.run("algo-1") == 0);
    CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::exited(7), false, false});
    CHECK(job.left() == none);
  }
}

TEST_CASE("light host: a path that it cannot show ends it with one line") {
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    TestJob job(1);
    job.light(uid);
    job.action("exit0");
    REQUIRE(fs::remove(job.folder() + "/key"));
    CHECK(job.run("algo-1") == 0);
    CHECK(job.end("algo-1").outcome ==
          job::Outcome::failed("cannot open " + job.folder() + "/key: No such file or directory"));
    CHECK(job.left() == none);
    CHECK(!job.folders_left("algo-1"));
  }
}

TEST_CASE(
    "light host: a machine that refuses mounts to ordinary users is reported, with its setting") {
  SKIP_UNDER_THREAD_SANITIZER();
  if (users().empty()) return;
  TestJob job(1);
  job.light();
  job.refuse("max_user_namespaces", 1000);
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome ==
        job::Outcome::failed("a light host requires its own mount namespace, which this machine "
                             "does not allow (user.max_user_namespaces is 0)"));
  CHECK(job.phases("algo-1") == Names{"Starting", "Failed"});
  CHECK(job.left() == none);
  CHECK(!job.folders_left("algo-1"));
}

/// A control group of memory, as a scheduler makes one for a step.
class Step {
 public:
  explicit Step(const std::string& limit) {
    const std::string name = "/light-test-" + hex(random_bytes(4));
    for (const std::string& root : container::cgroup_roots()) {
      if (::mkdir((root + name).c_str(), 0755) != 0) continue;
      made_.push_back(root + name);
      for (const char* file : {"/memory.limit_in_bytes", "/memory.max"})
        if (fs::exists(root + name + file) && std::ofstream(root + name + file) << limit)
          limited_ = true;
    }
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    for (const std::string& folder : made_) ::rmdir(folder.c_str());
  }
  bool is_limited() const { return limited_; }
  const std::vector<std::string>& folders() const { return made_; }

 private:
  std::vector<std::string> made_;
  bool limited_ = false;
};

constexpr int step_mib = 320 * memory_scale;
const std::string step_limit = std::to_string(step_mib << 20);
const Names step_overrun{"reached its memory limit (" + std::to_string(step_mib) + " MiB)"};

TEST_CASE("light host: memory that ran out in its scheduler's control group is reported") {
  SKIP_UNDER_THREAD_SANITIZER();
  const Step step(step_limit);
  for (const uid_t uid : users()) {
    CAPTURE(uid);
    if (!step.is_limited()) {
      MESSAGE("skipped: no control group of memory can be made here");
      return;
    }
    TestJob job(1);
    job.light(uid);
    job.group(step.folders());
    job.action("eat");
    CHECK(job.run("algo-1") == 0);
    const job::HostEnd end = job.end("algo-1");
    CHECK(end.out_of_memory);
    CHECK(end.overruns == step_overrun);
    CHECK(!end.outcome.success());
  }
}

/// Control groups that are left in a step's.
std::vector<std::string> groups_in(const Step& step) {
  std::vector<std::string> found;
  for (const std::string& folder : step.folders())
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory()) found.push_back(entry.path());
  return found;
}

TEST_CASE("steward: a container in a step is below the step's control group, on its network") {
  SKIP_UNLESS_HOSTS_RUN();
  const Step step(step_limit);
  TestJob job(1);
  job.in_step();
  job.group(step.folders());
  job.action("wait");
  const pid_t steward = job.start("algo-1");
  job.wait_for_line("algo-1", "waiting");
  const std::string init = "/proc/" + std::to_string(job.init_pid("algo-1"));
  CHECK(fs::read_symlink(init + "/ns/net") == fs::read_symlink("/proc/self/ns/net"));
  const std::string own = container::memory_cgroup(*read_file(init + "/cgroup"));
  const std::string above =
      container::memory_cgroup(*read_file("/proc/" + std::to_string(steward) + "/cgroup"));
  const std::string name = job::machine_name(job.spec().name, job.folder());
  CHECK(own == container::cgroup_below(above, "muster-" + name + "-algo-1"));
  ::kill(steward, SIGTERM);
  CHECK(job.wait(steward) == 0);
  CHECK(job.end("algo-1").outcome == job::Outcome::exited(143));
  CHECK(groups_in(step) == none);
  CHECK(job.left() == none);
}

TEST_CASE("steward: a container in a step cannot exceed the step's memory, and that is reported") {
  SKIP_UNDER_THREAD_SANITIZER();
  SKIP_UNLESS_HOSTS_RUN();
  const Step step(step_limit);
  if (!step.is_limited()) {
    MESSAGE("skipped: no control group of memory can be made here");
    return;
  }
  TestJob job(1);
  job.in_step();
  job.group(step.folders());
  job.action("eat");
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.out_of_memory);
  CHECK(end.overruns == step_overrun);
  CHECK(groups_in(step) == none);
  CHECK(job.left() == none);
}

TEST_CASE("light host: its interface and the GPUs that it was given are found") {
  job::HostSpec spec;
  spec.host = "algo-1";
  spec.hosts = {{"algo-1", "127.0.0.1"}};
  CHECK(on_this_machine(spec, {}).interface.empty());
  spec.light = true;
  CHECK(on_this_machine(spec, {}).interface == "lo");
  spec.interface = "ib0";
  CHECK(on_this_machine(spec, {}).interface == "ib0");
  spec.interface.clear();
  CHECK(on_this_machine(spec, {{"ROCR_VISIBLE_DEVICES", "0,2"}}).devices.gpus.size() == 2);
  CHECK(on_this_machine(spec, {{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}).devices.gpus.empty());
  spec.hosts = {{"algo-1", "192.0.2.1"}};
  CHECK(on_this_machine(spec, {}).interface.empty());
}

}  // namespace
}  // namespace muster::steward
