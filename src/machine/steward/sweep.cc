#include "machine/steward/sweep.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/time.h"
#include "container/bundle/runtime.h"
#include "container/cgroup.h"
#include "container/host_network/gateway.h"
#include "job/host_spec.h"
#include "job/machine_name.h"
#include "machine/housing/folders.h"
#include "net/loop/loop.h"
#include "net/loop/tasks.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;

/// Files of a host that stay after its steward has ended, for the next steward and for readers.
const std::set<std::string> kept_of_hosts = {"journal", "result", "spec.json", "steward.log"};

/// How long a killed process may take to end.
constexpr std::chrono::seconds end_deadline{5};

class Sweeper {
 public:
  /// `only`: the folder of the only job whose hosts are cleared, after their stewards have ended;
  /// or empty.
  Sweeper(const SweepOptions& options, const Env& env, std::string only = {})
      : options_(options), env_(env), only_(std::move(only)) {}

  Swept run() {
    // Containers first: their processes hold everything else.
    containers();
    cgroups();
    gateways();
    if (only_.empty())
      job_folders();
    else
      host_folders();
    return std::move(swept_);
  }

 private:
  bool is_kept(const std::string& job_folder) const {
    return !options_.kept_too && ::access((job_folder + "/kept").c_str(), F_OK) == 0;
  }
  bool is_dead(const std::string& job_folder) const {
    if (!only_.empty()) return job_folder == only_;
    return !is_living(job_folder) && !is_kept(job_folder);
  }

  void note(const std::string& what, const Result<void>& removed) {
    if (removed) swept_.removed.push_back(what);
    if (!removed) swept_.failed.push_back(what + ": " + removed.error().text);
  }

  void containers() {
    for (const container::KnownContainer& known : container::known_containers()) {
      // The bundle is in <job folder>/algo-K/bundle.
      const std::string job = fs::path(known.bundle).parent_path().parent_path();
      if (!known.bundle.empty() && !is_dead(job)) {
        living_jobs_.insert(job::machine_name(fs::path(job).filename().string(), job));
        continue;
      }
      if (known.bundle.empty()) continue;  // Being created, or not muster's.
      note("container " + known.id, remove_container(known.id));
    }
  }

  Result<void> remove_container(const std::string& id) {
    const container::Runtime runtime = TRY(container::Runtime::find(env_));
    const std::string logs = TRY(make_private_folder("/run/muster", "sweep-"));
    Result<void> removed;
    loop::Loop loop;
    loop::Tasks tasks(loop);
    tasks.start(remove_one(loop, runtime, id, logs, removed));
    loop.run();
    static_cast<void>(remove_tree(logs));
    return removed;
  }

  static loop::Task<> remove_one(loop::Loop& loop, const container::Runtime& runtime,
                                 const std::string& id, const std::string& logs,
                                 Result<void>& removed) {
    removed = co_await runtime.remove(loop, id, logs);
  }

  void cgroups() {
    for (const std::string& job : container::jobs_with_cgroups()) {
      const std::string name = job.substr(0, job.rfind('.'));
      const std::string folder = options_.state_folder + "/jobs/" + name;
      const bool is_of_folder = job == job::machine_name(name, folder);
      if (living_jobs_.contains(job) || (is_of_folder && !is_dead(folder))) continue;
      if (!is_of_folder && !only_.empty()) continue;
      const std::string path = job::jobs_cgroup + ("/" + job);
      std::error_code code;
      const bool ours = is_of_folder && fs::exists(folder, code);
      // Another state folder's job may be starting.
      if (!ours && container::is_young_cgroup(path)) continue;
      if (ours) end_processes(path);
      container::remove_cgroup(path);
      if (!container::has_cgroup(path)) swept_.removed.push_back("cgroup " + path);
    }
    const Result<Fd> lock = wait_for_lock(container::jobs_cgroup_lock);
    if (lock) container::remove_idle_cgroup(job::jobs_cgroup);
  }

  /// Kills the processes in the group and waits for their end: until then the group cannot be
  /// removed.
  static void end_processes(const std::string& path) {
    std::vector<Fd> killed;
    for (const int pid : container::processes_in(path)) {
      Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      ::kill(pid, SIGKILL);
      if (process) killed.push_back(std::move(process));
    }
    const TimePoint deadline = Clock::now() + end_deadline;
    for (const Fd& process : killed) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd end{process.get(), POLLIN, 0};
      if (left.count() > 0) ::poll(&end, 1, static_cast<int>(left.count()));
    }
  }

  /// Also for kept jobs: a network without hosts is useless.
  void gateways() {
    const auto stays = [this](const std::string& job_folder) {
      return only_.empty() ? is_living(job_folder) : job_folder != only_;
    };
    for (const std::string& bridge : container::dead_gateways(stays))
      note("network " + bridge, container::close_gateway(bridge, env_));
  }

  void job_folders() {
    const std::string jobs = options_.state_folder + "/jobs";
    for (const std::string& name : folders_in(jobs, "")) {
      const std::string folder = jobs + "/" + name;
      std::error_code code;
      const bool being_made = name.compare(0, 5, ".new-") == 0 && !fs::exists(folder + "/lock");
      if (!being_made && is_dead(folder)) note("job " + name, remove_tree(folder));
    }
  }

  void host_folders() {
    ::unlink((only_ + "/network").c_str());  // The processes in it have ended.
    for (const std::string& host : folders_in(only_, "algo-")) {
      const std::string folder = only_ + "/" + host;
      for (const std::string& name : names_in(folder).value_or({})) {
        if (kept_of_hosts.contains(name)) continue;
        const Result<void> removed = remove_tree(folder + "/" + name);
        if (!removed) note(host, removed);
      }
    }
  }

  const SweepOptions& options_;
  const Env& env_;
  const std::string only_;
  Swept swept_;
  std::set<std::string> living_jobs_;
};

}  // namespace

Result<Swept> sweep(const SweepOptions& options, const Env& env) {
  if (::geteuid() != 0) return fail(Errc::denied, "removing leftovers of jobs requires root");
  return Sweeper(options, env).run();
}

Result<Swept> clear_hosts(const std::string& job_folder, const Env& env) {
  if (::geteuid() != 0) return fail(Errc::denied, "removing leftovers of hosts requires root");
  if (has_stewards(job_folder))
    return fail(Errc::denied, job_folder + ": a steward is still running");
  const SweepOptions options{.state_folder = fs::path(job_folder).parent_path().parent_path()};
  return Sweeper(options, env, job_folder).run();
}

}  // namespace muster::steward
