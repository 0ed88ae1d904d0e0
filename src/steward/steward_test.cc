#include "steward/steward.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "container/cgroup.h"
#include "container/machine.h"
#include "container/network.h"
#include "container/process.h"
#include "container/rootfs.h"
#include "container/runtime.h"
#include "job/journal.h"
#include "job/lines.h"
#include "job/spec.h"
#include "loop/unix.h"
#include "steward/folders.h"
#include "steward/sweep.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds guard{60};
constexpr std::int64_t first_id = 1'879'048'192;

Env test_env() {
  return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          {"HOME", "/root"}};
}

/// Why hosts cannot run here; empty if they can.
std::string obstacle() {
  if (::geteuid() != 0) return "needs root";
  if (!container::Runtime::find(test_env())) return "needs runc";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Result<std::string> folder = make_private_folder("/tmp", "muster-overlay-");
    bool works = folder && container::enter_private_mounts() &&
                 container::make_layers(*folder + "/layers") &&
                 container::mount_overlay("/usr", *folder + "/layers/usr", *folder + "/view", {});
    container::unmount(*folder + "/view");
    container::unmount(*folder + "/layers");
    works = remove_tree(*folder) && works;
    ::_exit(works ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? "" : "needs overlay mounts";
}

#define SKIP_UNLESS_HOSTS_RUN()                \
  do {                                         \
    static const std::string why = obstacle(); \
    if (!why.empty()) {                        \
      MESSAGE("skipped: " << why);             \
      return;                                  \
    }                                          \
  } while (false)

/// Runs a coroutine to its end, at most until the guard.
template <class T>
T await(loop::Loop& loop, loop::Task<T> task) {
  std::optional<T> result;
  auto store = [](loop::Loop& on, loop::Task<T> inner, std::optional<T>& into) -> loop::Task<> {
    into = co_await std::move(inner);
    on.stop();
  };
  auto watch = [](loop::Loop& on) -> loop::Task<> {
    loop::Timer timer(on);
    const bool came = co_await timer.after(guard);
    if (came) on.stop();
  };
  loop.context().restart();
  loop.spawn(store(loop, std::move(task), result));
  loop.spawn(watch(loop));
  loop.run();
  REQUIRE_MESSAGE(result.has_value(), "the guard of 60 s passed");
  return *std::move(result);
}

/// A job's folders on this machine, with stewards as children of the test.
class TestJob {
 public:
  explicit TestJob(int hosts) {
    const std::string bytes = random_bytes(5);
    state_ = *make_private_folder("/tmp", "muster-st-");
    submitter_ = *make_private_folder("/tmp", "muster-sub-");
    spec_.name = "t-" + hex(bytes.substr(0, 4));
    spec_.grace = std::chrono::seconds(20);
    spec_.path = test_env()["PATH"];
    spec_.read_only_binds = {submitter_ + "/bound"};
    for (const char* folder : {"/data", "/code", "/bound"})
      REQUIRE(make_folders(submitter_ + folder));
    REQUIRE(write_file(submitter_ + "/data/file", "input"));
    REQUIRE(write_file(submitter_ + "/code/script.py", "code"));
    REQUIRE(write_file(submitter_ + "/bound/file", "bound"));
    bridge_ = "mu" + hex(bytes.substr(0, 4));
    subnet_ = "10.233." + std::to_string(static_cast<unsigned char>(bytes[4])) + ".";
    REQUIRE(make_folders(folder(), 0700));
    REQUIRE(write_file(folder() + "/key", "secret", 0600));
    lock_ = *take_lock(folder() + "/lock");
    for (int i = 1; i <= hosts; ++i)
      hosts_.push_back({"algo-" + std::to_string(i), subnet_ + std::to_string(i)});
  }
  ~TestJob() {
    for (const pid_t pid : started_)
      if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
    lock_.reset();
    static_cast<void>(sweep({state_, true}, test_env()));
    static_cast<void>(remove_tree(state_));
    static_cast<void>(remove_tree(submitter_));
  }

  job::Spec& spec() { return spec_; }
  const std::string& state() const { return state_; }
  const std::string& submitter() const { return submitter_; }
  const std::string& subnet() const { return subnet_; }
  std::string folder() const { return state_ + "/jobs/" + spec_.name; }
  std::string folder(const std::string& host) const { return folder() + "/" + host; }
  void action(const std::string& name) { spec_.environment["TEST_ACTION"] = name; }
  void unlock() { lock_.reset(); }

  job::HostSpec host_spec(const std::string& host) const {
    job::HostSpec host_spec;
    host_spec.spec = spec_;
    host_spec.spec.instance_count = static_cast<int>(hosts_.size());
    host_spec.spec.environment["TEST_STATE"] = state_;
    host_spec.spec.environment["TEST_BOUND"] = submitter_ + "/bound";
    host_spec.host = host;
    host_spec.hosts = hosts_;
    host_spec.bridge = bridge_;
    host_spec.first_id = first_id;
    host_spec.state_folder = state_;
    host_spec.job_folder = folder();
    host_spec.host_folder = folder(host);
    host_spec.key_file = folder() + "/key";
    return host_spec;
  }

  /// Starts a steward in a process of its own; `lifeline` is the end that it watches.
  pid_t start(const std::string& host, const Pipe* lifeline = nullptr) {
    const std::string file = folder(host) + ".json";
    REQUIRE(write_file(file, to_text(job::to_json(host_spec(host))), 0600));
    const pid_t pid = ::fork();
    if (pid == 0) {
      Args args{"--spec", file};
      if (lifeline != nullptr)
        args.insert(args.end(), {"--lifeline", std::to_string(lifeline->read.get())});
      // Locks of this test's jobs and its ends of lifelines must not live on in a steward.
      for (int fd = 3; fd < 256; ++fd)
        if (lifeline == nullptr || fd != lifeline->read.get()) ::close(fd);
      ::_exit(steward_main(args, test_env()));
    }
    started_.push_back(pid);
    return pid;
  }

  /// The exit status of a steward, as waitpid gives it.
  int wait(pid_t pid) {
    loop::Loop loop;
    container::Process process = *container::Process::open(pid);
    const job::Outcome outcome = await(loop, process.ended(loop));
    std::replace(started_.begin(), started_.end(), pid, pid_t{-1});
    return job::exit_code(outcome);
  }
  int run(const std::string& host) { return wait(start(host)); }

  std::vector<job::Record> records(const std::string& host) const {
    job::JournalReader reader;
    reader.feed(read_file(folder(host) + "/journal", 512u << 20).value_or(""));
    std::vector<job::Record> records;
    while (true) {
      Result<std::optional<job::Record>> record = reader.next();
      REQUIRE(record);
      if (!*record) return records;
      records.push_back(**std::move(record));
    }
  }
  std::vector<std::string> phases(const std::string& host) const {
    std::vector<std::string> phases;
    for (const job::Record& record : records(host))
      if (record.kind == job::Message::phase)
        phases.emplace_back(phase_name(job::phase_from(record.payload)->phase));
    return phases;
  }
  /// All lines of `rank`.
  std::string lines(const std::string& host, int rank) const {
    std::string text;
    for (const job::Record& record : records(host)) {
      if (record.kind != job::Message::lines) continue;
      const job::Lines lines = *job::lines_from(record.payload);
      if (lines.rank == rank) text += lines.bytes;
    }
    return text;
  }
  job::HostEnd end(const std::string& host) const {
    for (const job::Record& record : records(host))
      if (record.kind == job::Message::outcome)
        if (const auto end = job::host_end_from(record.payload); end && *end) return **end;
    FAIL("no end in the journal of " << host);
    return {};
  }

  /// Waits until the guest of `host` has said `text`.
  void wait_for_line(const std::string& host, const std::string& text) const {
    const TimePoint deadline = Clock::now() + guard;
    while (lines(host, 0).find(text) == std::string::npos) {
      REQUIRE(Clock::now() < deadline);
      ::sched_yield();
    }
  }
  pid_t init_pid(const std::string& host) const {
    return static_cast<pid_t>(*parse_integer(trim(*read_file(folder(host) + "/bundle/pid"))));
  }

  /// What of this job is left on the machine, besides its folder.
  std::vector<std::string> left() const {
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator("/sys/class/net"))
      if (entry.path().filename().string().find(bridge_) == 0) left.push_back(entry.path());
    for (const container::KnownContainer& known : container::known_containers())
      if (known.id.find(spec_.name) == 0) left.push_back("container " + known.id);
    if (container::has_cgroup("/muster/" + spec_.name)) left.push_back("cgroup " + spec_.name);
    if (read_file("/proc/self/mountinfo")->find(spec_.name) != std::string::npos)
      left.push_back("mount");
    return left;
  }
  bool folders_left(const std::string& host) const {
    return fs::exists(folder(host) + "/layers") || fs::exists(folder(host) + "/root") ||
           fs::exists(folder(host) + "/ml") || fs::exists(folder(host) + "/control.sock");
  }

 private:
  job::Spec spec_;
  std::string state_, submitter_, bridge_, subnet_;
  std::vector<job::HostAddress> hosts_;
  std::vector<pid_t> started_;
  Fd lock_;
};

using Names = std::vector<std::string>;
const Names none;

loop::Task<bool> send_stop(loop::Loop& loop, std::string path, int grace_ms) {
  Result<std::unique_ptr<loop::UnixChannel>> channel = loop::unix_connect(loop, path);
  if (!channel) co_return false;
  const std::string payload = to_text(Json{{"signal", SIGTERM}, {"grace_ms", grace_ms}});
  (*channel)->post(job::type_of(job::Message::signal), payload);
  co_return (co_await (*channel)->flushed()).has_value();
}

TEST_CASE("steward: a host sees its own world, the job's files and nothing secret") {
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
  // Its state is under /tmp in this test, of which a host has its own.
  CHECK(report["state"] == Json::array());
  CHECK(report["input"] == "input");
  CHECK(report["code"] == "code");
  CHECK(report["key"] == "secret");
  CHECK(report["bound"] == "bound");
  CHECK(report["config"].get<std::string>().find("\"current_host\":\"algo-1\"") !=
        std::string::npos);
  CHECK(report["links"].size() == 2);
  CHECK(report["fds"] == 5);  // 0 to 2, the steward's stream, and the folder being read.
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

/// The machine's own IPv4 addresses, loopback and the job's subnet included.
std::vector<std::string> machine_addresses(const std::string& subnet) {
  std::vector<std::string> found{"127.0.0.1", subnet + "254", subnet + "255"};
  ifaddrs* first = nullptr;
  REQUIRE(::getifaddrs(&first) == 0);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* in = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    found.emplace_back(::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size()));
  }
  ::freeifaddrs(first);
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

TEST_CASE("steward: a failed host's exact end is told, and nothing of it is left") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit7");
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1") == job::HostEnd{"algo-1", job::Outcome::exited(7), false, false});
  CHECK(job.phases("algo-1").back() == "Failed");
  CHECK(job.left() == none);
}

TEST_CASE("steward: an init that is killed is told apart from one that fails") {
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
  CHECK(!end.outcome.success());
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
      REQUIRE(await(loop, send_stop(loop, job.folder("algo-1") + "/control.sock", 20'000)));
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
  const std::string socket = job.folder("algo-1") + "/control.sock";
  REQUIRE(await(loop, send_stop(loop, socket, 20'000)));
  REQUIRE(await(loop, send_stop(loop, socket, 0)));
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
  await(loop, watched->ended(loop));  // By the lifeline; whoever inherits it reaps it.
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

TEST_CASE("steward: what runc refuses is told in one line, and nothing is left") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit0");
  // Where it would mount /proc, there is a file.
  REQUIRE(make_folders(job.folder("algo-1") + "/root"));
  REQUIRE(write_file(job.folder("algo-1") + "/root/proc", ""));
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
  CHECK(end.outcome == job::Outcome::failed(job.folder() + "/key: No such file or directory"));
  CHECK(job.left() == none);
}

TEST_CASE("steward: another job's container of the same name is not touched") {
  SKIP_UNLESS_HOSTS_RUN();
  TestJob job(1);
  job.action("exit0");
  const std::string taken = "/run/muster/runc/" + job.spec().name + "-algo-1";
  REQUIRE(make_folders(taken));
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome.text.find("is there already") != std::string::npos);
  CHECK(fs::remove(taken));
  CHECK(job.left() == none);
}

TEST_CASE("steward: a disk that fills up fails the host, which still tells its end") {
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
