#include "os/supervise/stop.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "os/supervise/process_stat.h"
#include "os/supervise/reaper.h"

namespace muster::supervise {
namespace {

constexpr std::size_t proc_file_bytes_max = 1u << 20;
/// How long a process that gets the signal after others may take to end by itself first, mostly
/// with their outcome.
constexpr int looks_alone = std::chrono::milliseconds(500) / Stop::look_again;

std::string proc_text(pid_t pid, const char* file) {
  return read_file("/proc/" + std::to_string(pid) + "/" + file, proc_file_bytes_max).value_or("");
}

/// Whether a mask of proc(5)'s status, in hexadecimal, has `signal`.
bool has_signal(const std::string& status, const std::string& mask, int signal) {
  const std::size_t at = status.find("\n" + mask + ":");
  if (at == std::string::npos) return false;
  const std::size_t from = status.find_first_of("0123456789abcdef", at + mask.size() + 2);
  if (from == std::string::npos) return false;
  const std::uint64_t bits = std::strtoull(status.c_str() + from, nullptr, 16);
  return (bits >> (signal - 1) & 1) != 0;
}

bool is_asynchronous(const std::string& status) {
  return has_signal(status, "SigIgn", SIGQUIT);
}

std::optional<StopProcess> process_of(pid_t pid) {
  const std::optional<ProcessStat> stat = stat_of(pid);
  if (!stat || stat->has_ended()) return std::nullopt;
  StopProcess process{
      .pid = pid, .parent = static_cast<pid_t>(stat->parent), .started = stat->started};
  process.argv = split(proc_text(pid, "cmdline"), '\0');
  const std::string status = proc_text(pid, "status");
  for (const char* mask : {"SigCgt", "SigIgn", "SigBlk"})
    process.minds = process.minds || has_signal(status, mask, SIGTERM);
  process.ignores = has_signal(status, "SigIgn", SIGTERM);
  process.asynchronous = is_asynchronous(status);
  process.ours = runs_our_file(pid);
  return process;
}

std::vector<StopProcess> processes_of(const std::vector<pid_t>& pids) {
  std::vector<StopProcess> processes;
  for (const pid_t pid : pids)
    if (std::optional<StopProcess> process = process_of(pid))
      processes.push_back(*std::move(process));
  return processes;
}

/// A StopStep or a StopProcess.
bool lives(const auto& process) {
  const std::optional<ProcessStat> stat = stat_of(process.pid);
  return stat && !stat->has_ended() && stat->started == process.started;
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> pids = descendants(parent);
  std::erase_if(pids, [parent](pid_t pid) {
    const std::optional<ProcessStat> stat = stat_of(pid);
    return !stat || stat->has_ended() || stat->parent != parent;
  });
  return pids;
}

bool runs_our_file(pid_t pid) {
  struct stat own {};
  struct stat theirs {};
  if (::stat("/proc/self/exe", &own) != 0) return false;
  if (::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &theirs) != 0) return false;
  return own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

Stop::Stop(pid_t main) : main_(main) {
  std::vector<pid_t> pids = descendants(main);
  pids.insert(pids.begin(), main);
  processes_ = processes_of(pids);
  plan();
  look();
}

Stop::Stop(pid_t main, pid_t top) : main_(main), processes_(processes_of(descendants(top))) {
  plan();
  look();
}

void Stop::plan() {
  steps_ = plan_stop(processes_, main_);
  for (StopStep& step : steps_) step.told = step.told && !told_.contains(step.pid);
}

/// A shell's fork for a command with `&` is like one in the foreground until it ignores SIGQUIT;
/// on a busy machine it was found before. One that minds SIGTERM may be saving by now.
bool Stop::finds_background() {
  bool found = false;
  for (StopProcess& each : processes_) {
    if (each.asynchronous || each.minds || role_of(each) != StopRole::shell || !lives(each))
      continue;
    each.asynchronous = is_asynchronous(proc_text(each.pid, "status"));
    found = found || each.asynchronous;
  }
  return found;
}

bool Stop::look() {
  if (finds_background()) plan();
  std::erase_if(steps_, [](const StopStep& step) { return !lives(step); });
  std::set<pid_t> left;
  for (const StopStep& step : steps_) left.insert(step.pid);
  waiting_ = 0;
  for (StopStep& step : steps_) {
    waiting_ += step.awaited ? 1 : 0;
    const bool is_due = step.told && std::none_of(step.after.begin(), step.after.end(),
                                                  [&](pid_t pid) { return left.contains(pid); });
    if (!is_due) continue;
    if (!step.after.empty() && ++looks_since_[step.pid] < looks_alone) continue;
    step.told = false;
    told_.insert(step.pid);  // Once.
    ::kill(step.pid, SIGTERM);
  }
  return waiting_ > 0;
}

void Stop::kill() const {
  for (const StopStep& step : steps_)
    if (lives(step)) ::kill(step.pid, SIGKILL);
}

}  // namespace muster::supervise
