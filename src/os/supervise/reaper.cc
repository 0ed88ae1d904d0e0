#include "os/supervise/reaper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "os/supervise/process_stat.h"

namespace muster::supervise {
namespace {

constexpr Duration look_again = std::chrono::milliseconds(20);
constexpr std::size_t unclaimed_max = 256;

/// True if `pid` is a child of ours, running or not yet reaped.
bool is_child(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

job::Outcome outcome_of(int code, int status) {
  if (code == CLD_EXITED) return job::Outcome::exited(status);
  return job::Outcome::signaled(status);
}

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const std::string& name : names_in("/proc").value_or({})) {
    const std::optional<std::int64_t> pid = parse_integer(name);
    if (!pid) continue;
    // Zombies too: a process whose first thread has ended is one to /proc while its others run.
    const std::optional<ProcessStat> stat = stat_of(static_cast<pid_t>(*pid));
    if (stat) children.emplace(static_cast<pid_t>(stat->parent), static_cast<pid_t>(*pid));
  }
  std::vector<pid_t> result{root};
  for (std::size_t at = 0; at < result.size(); ++at) {
    const auto [first, last] = children.equal_range(result[at]);
    for (auto child = first; child != last; ++child) result.push_back(child->second);
  }
  result.erase(result.begin());
  return result;
}

Reaper::Reaper(loop::Loop& loop) : signals_(loop, {SIGCHLD}), reaped_(loop), tasks_(loop) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  tasks_.start(reap());
}

void Reaper::watch(pid_t pid, std::function<void(job::Outcome)> on_end) {
  watched_[pid] = std::move(on_end);
  // Another process that had this number may have been reaped before. `pid` itself was reaped if it
  // has stopped being a child.
  tasks_.start(look_at(pid, !is_child(pid)));
}

loop::Task<> Reaper::look_at(pid_t pid, bool reaped) {
  if (reaped)
    give_unclaimed(pid);
  else
    reap_ended();  // The child's SIGCHLD may have come while another's was being handled.
  co_return;
}

void Reaper::give_unclaimed(pid_t pid) {
  const auto found = std::find_if(unclaimed_.rbegin(), unclaimed_.rend(),
                                  [pid](const auto& one) { return one.first == pid; });
  const job::Outcome outcome =
      found == unclaimed_.rend()
          ? job::Outcome::failed("process " + std::to_string(pid) + " ended unseen")
          : found->second;
  if (found != unclaimed_.rend()) unclaimed_.erase(std::next(found).base());
  deliver(pid, outcome);
}

void Reaper::deliver(pid_t pid, const job::Outcome& outcome) {
  const auto found = watched_.find(pid);
  if (found == watched_.end()) {
    unclaimed_.emplace_back(pid, outcome);
    if (unclaimed_.size() > unclaimed_max) unclaimed_.pop_front();
    return;
  }
  const auto on_end = std::move(found->second);
  watched_.erase(found);
  on_end(outcome);
}

loop::Task<> Reaper::reap() {
  while (true) {
    const Result<int> signal = co_await signals_.next();
    if (!signal) co_return;
    reap_ended();
  }
}

void Reaper::reap_ended() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
    deliver(std::exchange(info.si_pid, 0), outcome_of(info.si_code, info.si_status));
    reaped_.notify();
  }
}

void Reaper::signal(pid_t pid, int number) const {
  if (watched_.contains(pid)) ::kill(pid, number);
}

void Reaper::signal_group(pid_t pid, int number) const {
  if (watched_.contains(pid)) ::kill(-pid, number);
}

loop::Task<bool> Reaper::kill_descendants(TimePoint deadline) {
  while (true) {
    reap_ended();
    if (!has_children()) co_return true;
    // One that forks meanwhile may be missed; its child then comes to us when it has ended.
    for (const pid_t pid : descendants(::getpid())) ::kill(pid, SIGKILL);
    const TimePoint now = Clock::now();
    if (now >= deadline) co_return false;
    co_await reaped_.wait_until(std::min(deadline, now + look_again));
  }
}

}  // namespace muster::supervise
