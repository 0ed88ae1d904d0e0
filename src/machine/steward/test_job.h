#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process/user_namespace.h"
#include "base/text.h"
#include "container/bundle/rootfs.h"
#include "container/bundle/runtime.h"
#include "container/cgroup.h"
#include "container/child_process.h"
#include "job/host_spec.h"
#include "job/machine_name.h"
#include "job/outcome/lines.h"
#include "job/wire/journal.h"
#include "machine/housing/folders.h"
#include "machine/steward/sweep.h"
#include "net/loop/testing.h"

/// For the tests of this room: jobs on this machine with stewards as children of the test.
namespace muster::steward {
namespace fs = std::filesystem;

inline constexpr std::chrono::seconds guard{60};
inline constexpr std::int64_t first_id = 1'879'048'192;
/// Factor for hosts' memory limits: a sanitizer takes some 150 MiB in each program of a host.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int memory_scale = 3;
#else
inline constexpr int memory_scale = 1;
#endif

inline Env test_env() {
  return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          {"HOME", "/root"}};
}

/// Why hosts cannot run here; empty if they can.
inline std::string obstacle() {
  if (::geteuid() != 0) return "needs root";
  if (!container::Runtime::find(test_env())) return "needs runc";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Result<std::string> folder = make_private_folder("/tmp", "muster-overlay-");
    bool works = folder && enter_private_mounts() && container::mount_host_place() &&
                 container::show_machine({}) && container::make_layers(*folder + "/layers") &&
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

/// A thread sanitizer has a thread of its own in each process, which therefore cannot enter a user
/// namespace: hosts run without one. And stewards, which the test program forks, take much memory.
#if defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_THREAD_SANITIZER()         \
  do {                                        \
    MESSAGE("skipped: the thread sanitizer"); \
    return;                                   \
  } while (false)
#else
#define SKIP_UNDER_THREAD_SANITIZER() static_cast<void>(0)
#endif

/// Runs a coroutine to its end, at most until the guard.
template <class T>
T await(loop::Loop& loop, loop::Task<T> task) {
  std::optional<T> result;
  const auto store = [](loop::Task<T> inner, std::optional<T>& into) -> loop::Task<> {
    into = co_await std::move(inner);
  };
  loop::run_task(loop, store(std::move(task), result), guard);
  REQUIRE_MESSAGE(result.has_value(), "the guard of 60 s passed");
  return *std::move(result);
}

/// A job's folders on this machine, with stewards as children of the test.
class TestJob {
 public:
  /// `name`: of the job's folder, below that of all jobs; empty: the job's.
  explicit TestJob(int hosts, const std::string& name = "") {
    const std::string digits = hex(random_bytes(4));
    state_ = *make_private_folder("/tmp", "muster-st-");
    submitter_ = *make_private_folder("/tmp", "muster-sub-");
    spec_.name = "t-" + digits;
    spec_.grace = std::chrono::seconds(20);
    spec_.path = test_env()["PATH"];
    spec_.read_only_binds = {submitter_ + "/bound"};
    for (const char* folder : {"/data", "/code", "/bound"})
      REQUIRE(make_folders(submitter_ + folder));
    REQUIRE(write_file(submitter_ + "/data/file", "input"));
    REQUIRE(write_file(submitter_ + "/code/script.py", "code"));
    REQUIRE(write_file(submitter_ + "/bound/file", "bound"));
    bridge_ = "mu" + digits;
    // Jobs of one test meet in its network, where two of one subnet would not both have a gateway.
    static std::uint8_t next_subnet = 0;
    subnet_ = "10.233." + std::to_string(next_subnet++) + ".";
    folder_ = state_ + "/jobs/" + (name.empty() ? spec_.name : name);
    REQUIRE(make_folders(folder_, 0700));
    REQUIRE(write_file(folder_ + "/key", "secret", 0600));
    lock_ = *take_lock(folder_ + "/lock");
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
  const std::string& folder() const { return folder_; }
  std::string folder(const std::string& host) const { return folder() + "/" + host; }
  void action(const std::string& name) { spec_.environment["TEST_ACTION"] = name; }
  /// Makes the hosts containers of a scheduler's step, at 127.0.0.1.
  void in_step() {
    in_step_ = true;
    spec_.network = job::Network::nat;
    for (job::HostAddress& host : hosts_) host.address = "127.0.0.1";
  }
  /// Stewards are in this control group, as a scheduler's step is; its folder in each hierarchy.
  void group(std::vector<std::string> folders) { group_ = std::move(folders); }
  /// The kernel refuses the job's stewards what `setting` of /proc/sys/user counts. They are root,
  /// with the number `uid` in a user namespace.
  void refuse(const char* setting, std::uint32_t uid) {
    refused_ = setting;
    uid_within_ = uid;
  }
  void unlock() { lock_.reset(); }
  /// Makes the hosts light, at 127.0.0.1; processes of the ordinary user `uid`, unless that is 0.
  void light(uid_t uid = 0) {
    light_ = true;
    uid_ = uid;
    spec_.network = job::Network::nat;
    for (job::HostAddress& host : hosts_) host.address = "127.0.0.1";
    for (const std::string& tree : {state_, submitter_}) {
      REQUIRE(::chown(tree.c_str(), uid, uid) == 0);
      for (const auto& entry : fs::recursive_directory_iterator(tree))
        REQUIRE(::lchown(entry.path().c_str(), uid, uid) == 0);
    }
  }

  job::HostSpec host_spec(const std::string& host) const {
    job::HostSpec host_spec;
    host_spec.spec = spec_;
    host_spec.spec.instance_count = static_cast<int>(hosts_.size());
    host_spec.spec.environment["TEST_STATE"] = state_;
    host_spec.spec.environment["TEST_BOUND"] = submitter_ + "/bound";
    host_spec.host = host;
    host_spec.hosts = hosts_;
    host_spec.light = light_;
    host_spec.in_step = in_step_;
    if (light_) host_spec.rollcall_port = 20001;
    if (!light_ && !in_step_) host_spec.bridge = bridge_;
    if (!light_) host_spec.first_id = first_id;
    host_spec.state_folder = state_;
    host_spec.job_folder = folder();
    host_spec.host_folder = folder(host);
    host_spec.key_file = folder() + "/key";
    return host_spec;
  }

  /// Starts a steward in a separate process; `lifeline` is the end that it watches.
  pid_t start(const std::string& host, const Pipe* lifeline = nullptr) {
    const std::string file = folder(host) + ".json";
    REQUIRE(write_file(file, to_text(job::to_json(host_spec(host))), 0600));
    REQUIRE(::chown(file.c_str(), uid_, uid_) == 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (const std::string& group : group_)
        std::ofstream(group + "/cgroup.procs") << "0" << std::flush;
      become(uid_);
      if (!refused_.empty() && !enter_refusal()) ::_exit(126);
      std::string fd;
      if (lifeline != nullptr) {
        ::fcntl(lifeline->read.get(), F_SETFD, 0);
        fd = std::to_string(lifeline->read.get());
      }
      // A fresh program: a fork of the tests has all their memory, and would be the first that the
      // kernel kills when memory runs out.
      const char* argv[] = {"sm",         "steward",  "--spec", file.c_str(),
                            "--lifeline", fd.c_str(), nullptr};
      if (fd.empty()) argv[4] = nullptr;
      ::execv("/proc/self/exe", const_cast<char**>(argv));
      ::_exit(127);
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
    const std::string group = job::machine_name(spec_.name, folder());
    if (container::has_cgroup("/muster/" + group)) left.push_back("cgroup " + group);
    if (read_file("/proc/self/mountinfo")->find(spec_.name) != std::string::npos)
      left.push_back("mount");
    for (const auto& device : fs::directory_iterator("/sys/block")) {
      const std::string file = device.path().string() + "/loop/backing_file";
      if (read_file(file).value_or("").find(spec_.name) != std::string::npos)
        left.push_back(device.path());
    }
    return left;
  }
  bool folders_left(const std::string& host) const {
    return fs::exists(folder(host) + "/disk") || fs::exists(folder(host) + "/disk.img") ||
           fs::exists(folder(host) + "/control.sock");
  }

 private:
  static void become(uid_t uid) {
    if (uid == 0) return;
    if (::setgroups(0, nullptr) != 0 || ::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(125);
  }

  bool enter_refusal() const {
    return ::unshare(CLONE_NEWUSER) == 0 && map_one_id(0, 0, uid_within_, uid_within_) &&
           std::ofstream("/proc/sys/user/" + refused_) << "0" << std::flush;
  }

  job::Spec spec_;
  bool light_ = false;
  bool in_step_ = false;
  std::vector<std::string> group_;
  std::string refused_;
  std::uint32_t uid_within_ = 0;
  uid_t uid_ = 0;
  std::string state_, folder_, submitter_, bridge_, subnet_;
  std::vector<job::HostAddress> hosts_;
  std::vector<pid_t> started_;
  Fd lock_;
};

using Names = std::vector<std::string>;
inline const Names none;

}  // namespace muster::steward
