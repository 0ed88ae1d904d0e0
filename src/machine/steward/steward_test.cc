#include "machine/steward/steward.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/files/folder.h"
#include "container/cgroup.h"
#include "machine/steward/test_job.h"
#include "os/supervise/start_steward.h"

namespace muster::steward {
namespace {

using namespace std::chrono_literals;

TEST_CASE("steward: hosts of a job reach each other by name over the job's bridge") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(2);
  job.action("talk");
  const pid_t second = job.start("algo-2");
  const pid_t first = job.start("algo-1");
  CHECK(job.wait(first) == 0);
  CHECK(job.wait(second) == 0);
  CHECK(job.lines("algo-1", 0) == "listening\nheard algo-2\n");
  CHECK(job.end("algo-2").outcome.success());
  CHECK(job.left() == none);
}

TEST_CASE("steward: a failed host's exact end is reported, and nothing is left behind") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit7");
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::exited(7), false, false});
  CHECK(job.phases("algo-1").back() == "Failed");
  CHECK(job.left() == none);
}

TEST_CASE("steward: an init that is killed is distinguished from one that fails") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("wait");
  const pid_t steward = job.start("algo-1");
  job.wait_for_line("algo-1", "waiting");
  ::kill(job.init_pid("algo-1"), SIGKILL);
  CHECK(job.wait(steward) == 0);
  CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::signaled(9), false, false});
  CHECK(job.left() == none);
}

TEST_CASE("steward: a host that eats more than its memory is said to have") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("eat");
  job.spec().memory_bytes = 96 << 20;
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.out_of_memory);
  CHECK(end.overruns == std::vector<std::string>{"reached its memory limit (96 MiB)"});
  CHECK(!end.outcome.success());
  CHECK(job.left() == none);
}

TEST_CASE("steward: a host that fills its disk is said to have, and its results cannot grow") {
  SKIP_UNLESS_HOSTS_RUN();
  for (const char* place : {"/opt/ml/output", "/usr/share"}) {
    CAPTURE(place);
    TestJob job(1);
    job.action("fill");
    job.spec().environment["TEST_PLACE"] = place;
    job.spec().volume_gib = 1;
    CHECK(job.run("algo-1") == 0);
    const job::HostEnd end = job.end("algo-1");
    CHECK(end.outcome == job::Outcome::exited(1));
    CHECK(end.overruns == std::vector<std::string>{"disk: 1 GiB of VolumeSizeInGB=1 full"});
    const std::string result = job.folder("algo-1") + "/result";
    CHECK(fs::exists(result + "/output/large") == (place == std::string("/opt/ml/output")));
    struct stat hole {};
    REQUIRE(::stat((result + "/model/hole").c_str(), &hole) == 0);
    CHECK(hole.st_size == off_t{1} << 40);
    CHECK(hole.st_blocks < 1000);
    struct stat linked {};
    REQUIRE(::stat((result + "/model/linked").c_str(), &linked) == 0);
    CHECK(linked.st_nlink == 1001);
    CHECK(linked.st_uid == ::geteuid());
    CHECK(job.left() == none);
  }
}

TEST_CASE("steward: file systems in memory that a failed host filled are named") {
  SKIP_UNLESS_HOSTS_RUN();
  constexpr int memory_mib = 512 * memory_scale;
  for (const char* place : {"/dev/shm", "/tmp"}) {
    CAPTURE(place);
    TestJob job(1);
    job.action("fill");
    job.spec().environment["TEST_PLACE"] = place;
    job.spec().memory_bytes = std::int64_t{memory_mib} << 20;
    CHECK(job.run("algo-1") == 0);
    const int mib = memory_mib / (place == std::string("/tmp") ? 2 : 4);
    CHECK(job.end("algo-1").overruns ==
          std::vector<std::string>{place + (": " + std::to_string(mib)) + " MiB full"});
    CHECK(job.left() == none);
  }
}

TEST_CASE("steward: processes that the kernel refused a failed host are named") {
  SKIP_UNDER_THREAD_SANITIZER();
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("fork");
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.outcome == job::Outcome::exited(1));
  CHECK(end.overruns == std::vector<std::string>{"reached its limit of 16384 processes"});
  CHECK(job.left() == none);
}

TEST_CASE("steward: a stop over the control socket, or a signal, ends a host with its grace") {
  SKIP_UNLESS_HOSTS_RUN();
  for (const bool by_signal : {false, true}) {
    CAPTURE(by_signal);
    TestJob job(1);
    job.action("wait");
    const pid_t steward = job.start("algo-1");
    job.wait_for_line("algo-1", "waiting");
    loop::Loop loop;
    if (by_signal) ::kill(steward, SIGTERM);
    if (!by_signal)
      REQUIRE(await(loop, supervise::ask_steward_to_stop(loop, job.folder("algo-1"), 20s)));
    CHECK(job.wait(steward) == 0);
    CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::exited(143), false, true});
    CHECK(job.phases("algo-1").back() == "Stopped");
    CHECK(job.left() == none);
  }
}

TEST_CASE("steward: a second stop, or one without grace, kills at once") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("ignore");
  const pid_t steward = job.start("algo-1");
  job.wait_for_line("algo-1", "waiting");
  loop::Loop loop;
  REQUIRE(await(loop, supervise::ask_steward_to_stop(loop, job.folder("algo-1"), 20s)));
  REQUIRE(await(loop, supervise::ask_steward_to_stop(loop, job.folder("algo-1"), 0s)));
  CHECK(job.wait(steward) == 0);
  CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::signaled(9), false, true});
  CHECK(job.left() == none);
}

TEST_CASE("steward: when the lifeline ends, nothing is left, not even the folder") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(2);
  job.action("ignore");
  Pipe lifeline = *make_pipe();
  const pid_t first = job.start("algo-1", &lifeline);
  const pid_t second = job.start("algo-2", &lifeline);
  job.wait_for_line("algo-1", "waiting");
  job.wait_for_line("algo-2", "waiting");
  lifeline.write.reset();
  CHECK(job.wait(first) == 0);
  CHECK(job.wait(second) == 0);
  CHECK(job.left() == none);
  CHECK(!fs::exists(job.folder()));
}

TEST_CASE("steward: a killed steward takes its container along, and a sweep removes the rest") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob dead(1);
  TestJob living(1);
  dead.action("ignore");
  dead.spec().volume_gib = 1;
  living.action("wait");
  const pid_t dead_steward = dead.start("algo-1");
  const pid_t living_steward = living.start("algo-1");
  dead.wait_for_line("algo-1", "waiting");
  living.wait_for_line("algo-1", "waiting");
  const pid_t init = dead.init_pid("algo-1");
  Result<container::Process> watched = container::Process::open(init);
  REQUIRE(watched);
  ::kill(dead_steward, SIGKILL);
  CHECK(dead.wait(dead_steward) == 137);
  loop::Loop loop;
  await(loop, watched->ended(loop));  // By the lifeline; the process that inherits it reaps it.
  CHECK(!dead.left().empty());
  dead.unlock();

  const Result<Swept> swept = sweep({dead.state(), false}, test_env());
  REQUIRE(swept);
  CHECK(swept->failed == none);
  CHECK(dead.left() == none);
  CHECK(!fs::exists(dead.folder()));
  CHECK(sweep({dead.state(), false}, test_env())->removed == none);

  // Another state folder's living job, in spite of the sweep: untouched.
  CHECK(!living.left().empty());
  CHECK(sweep({living.state(), false}, test_env())->removed == none);
  ::kill(living_steward, SIGTERM);
  CHECK(living.wait(living_steward) == 0);
  CHECK(living.end("algo-1").outcome == job::Outcome::exited(143));
}

TEST_CASE("steward: control groups that another server's job was just given are not swept") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  const std::string other = std::string(container::jobs_cgroup) + "/other-" + hex(random_bytes(4));
  for (const std::string& root : container::cgroup_roots()) REQUIRE(make_folders(root + other));
  CHECK(sweep({job.state(), false}, test_env())->removed == none);
  CHECK(container::has_cgroup(other));
  container::remove_cgroup(other);
}

TEST_CASE("steward: hosts that were kept for inspection are swept only when asked for") {
  TestJob job(1);
  job.unlock();
  REQUIRE(write_file(job.folder() + "/kept", ""));
  if (::geteuid() != 0) {
    CHECK(sweep({job.state(), false}, test_env()).error().code == Errc::denied);
    return;
  }
  CHECK(sweep({job.state(), false}, test_env())->removed == none);
  CHECK(sweep({job.state(), true}, test_env())->removed == Names{"job " + job.spec().name});
}

TEST_CASE("steward: a host that cannot be prepared fails with one line and leaves nothing") {
  SKIP_UNLESS_HOSTS_RUN();
  struct {
    const char* folder;
    const char* text;
  } const cases[] = {{"/none", "channel train: "}, {"/data/file", "is not a folder"}};
  for (const auto& c : cases) {
    CAPTURE(c.folder);
    TestJob job(1);
    job.action("exit0");
    job.spec().input = {{"train", job.submitter() + c.folder}};
    CHECK(job.run("algo-1") == 0);
    const job::HostEnd end = job.end("algo-1");
    CHECK(end.outcome.kind == job::Outcome::Kind::failed);
    CHECK(end.outcome.text.find(c.text) != std::string::npos);
    CHECK(end.outcome.text.find('\n') == std::string::npos);
    CHECK(job.phases("algo-1") == Names{"Starting", "Downloading", "Failed"});
    CHECK(job.left() == none);
    CHECK(!job.folders_left("algo-1"));
  }
}

TEST_CASE("steward: a refusal of runc is reported in one line, and nothing is left") {
  SKIP_UNDER_THREAD_SANITIZER();
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit0");
  // Where it would mount /proc, there is a file.
  const std::string top = job.folder("algo-1") + "/disk/layers/root/top/upper";
  REQUIRE(make_folders(top));
  REQUIRE(write_file(top + "/proc", ""));
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.outcome.kind == job::Outcome::Kind::failed);
  CHECK(end.outcome.text.find("runc: ") == 0);
  CHECK(end.outcome.text.find("/proc") != std::string::npos);
  CHECK(end.outcome.text.find('\n') == std::string::npos);
  CHECK(job.phases("algo-1") == Names{"Starting", "Downloading", "Training", "Failed"});
  CHECK(job.left() == none);
}

TEST_CASE("steward: a file that a host needs and that is gone is named, and nothing is left") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  REQUIRE(fs::remove(job.folder() + "/key"));
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.outcome ==
        job::Outcome::failed("cannot open " + job.folder() + "/key: No such file or directory"));
  CHECK(job.left() == none);
}

TEST_CASE("steward: another job's container of the same name is not touched") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit0");
  const std::string taken =
      "/run/muster/runc/" + job::machine_name(job.spec().name, job.folder()) + "-algo-1";
  REQUIRE(make_folders(taken));
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome.text.find("already exists") != std::string::npos);
  CHECK(fs::remove(taken));
  CHECK(job.left() == none);
}

TEST_CASE("steward: a disk that fills up fails the host, which still reports its end") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("flood");
  REQUIRE(make_folders(job.folder("algo-1")));
  REQUIRE(::mount("test", job.folder("algo-1").c_str(), "tmpfs", 0, "size=8m") == 0);
  CHECK(job.run("algo-1") == 0);
  const job::HostEnd end = job.end("algo-1");
  CHECK(end.outcome.kind == job::Outcome::Kind::failed);
  CHECK(end.outcome.text.find("No space left on device") != std::string::npos);
  CHECK(job.phases("algo-1").back() == "Failed");
  container::unmount(job.folder("algo-1"));
  CHECK(job.left() == none);
}

TEST_CASE("steward: a hundred thousand lines reach the journal whole") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("flood");
  CHECK(job.run("algo-1") == 0);
  CHECK(job.lines("algo-1", 0).size() == 100'000u * 1001);
}

TEST_CASE("steward: wrong arguments and a wrong specification are named") {
  CHECK(steward_main({}, {}) == 2);
  CHECK(steward_main({"--spec", "x", "--sweep"}, {}) == 2);
  CHECK(steward_main({"--lifeline", "999", "--spec", "x"}, {}) == 2);
  CHECK(steward_main({"--spec", "/none"}, {}) == 1);
}

}  // namespace
}  // namespace muster::steward
