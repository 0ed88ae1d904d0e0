#include "platform/hang.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "platform/stack_tree.h"

namespace muster::platform {
namespace {

constexpr int looks = 4;  ///< In the time that nothing may happen.
constexpr Duration look_pause_min = std::chrono::milliseconds(500);
/// A process that waits wakes now and then; one that computes uses a processor.
constexpr std::int64_t idle_percent = 2;
/// Side effects that a spinning process may have: a wake-up through a descriptor, a page of a
/// stack.
constexpr std::int64_t spin_io_bytes = 4096;
constexpr std::int64_t spin_faults = 64;
/// A rank that waits for a download waits all the same: the bytes tell. Heartbeats are far below.
constexpr std::int64_t idle_io_bytes_per_second = 16 << 10;
constexpr std::int64_t quiet_seconds_max = 30 * 24 * 3600;
constexpr std::string_view quiet_word = "muster quiet ";

using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  ///< Host, pid, start.

/// The processes that count.
std::map<Key, const job::ProcessStacks*> counting(const std::vector<job::HostStacks>& hosts) {
  std::map<Key, const job::ProcessStacks*> all, members;
  for (const job::HostStacks& host : hosts)
    for (const job::ProcessStacks& each : host.processes) {
      const Key key{host.host, each.pid, each.started};
      all[key] = &each;
      if (each.is_member()) members[key] = &each;
    }
  return members.empty() ? all : members;
}

bool same_calls(const job::ProcessStacks& a, const job::ProcessStacks& b) {
  if (a.threads.empty() || a.threads.size() != b.threads.size()) return false;
  for (std::size_t i = 0; i < a.threads.size(); ++i)
    if (!job::same_place(a.threads[i], b.threads[i])) return false;
  return true;
}

bool stands(const job::ProcessStacks& before, const job::ProcessStacks& after, Duration passed) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
  const std::int64_t io = after.io_bytes - before.io_bytes;
  if ((after.cpu_ms - before.cpu_ms) * 100 < ms * idle_percent)
    return io * 1000 < ms * idle_io_bytes_per_second;
  return !before.moves && !after.moves && same_calls(before, after) && io < spin_io_bytes &&
         after.faults - before.faults < spin_faults;
}

bool talks(const job::HostStacks& before, const job::HostStacks& after, Duration passed) {
  if (before.net_bytes < 0 || after.net_bytes < 0) return false;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
  return (after.net_bytes - before.net_bytes) * 1000 >= ms * idle_io_bytes_per_second;
}

}  // namespace

bool all_were_seen(const std::vector<job::HostStacks>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const job::HostStacks& each) { return each.trouble.empty(); });
}

bool HangWatch::active(TimePoint now) {
  time_.advance(now);
  silent_since_ = since_ = now;
  seen_.clear();
  return std::exchange(hangs_, false);
}

void HangWatch::quiet_until(TimePoint until) {
  quiet_until_ = std::max(quiet_until_, until);
}

std::optional<TimePoint> HangWatch::next_look() const {
  if (after_ <= Duration(0) || !silent_since_) return std::nullopt;
  const Duration pause = std::max<Duration>(after_ / looks, look_pause_min);
  const TimePoint from = seen_.empty() ? *silent_since_ : looked_;
  return std::max(from, quiet_until_) + pause;
}

HangWatch::Finding HangWatch::look(std::vector<job::HostStacks> seen, TimePoint now) {
  time_.advance(now);
  if (now < quiet_until_) return Finding::nothing;
  looked_ = now;
  if (hangs_ && !all_were_seen(seen)) return Finding::nothing;  // No sign of life.
  const bool still = !seen_.empty() && stood_still(seen_, seen, now - seen_at_);
  still_ = still ? still_ + 1 : 0;
  if (!still) still_since_ = now;
  seen_ = std::move(seen);
  seen_at_ = now;
  if (hangs_) {
    if (still) return Finding::nothing;
    hangs_ = false;
    since_ = now;
    return Finding::goes_on;
  }
  // The first look came a part of the time after whatever happened last.
  hangs_ = still_ >= 2 && now - still_since_ >= after_ - after_ / looks - look_pause_min / 2;
  return hangs_ ? Finding::hangs : Finding::nothing;
}

bool stood_still(const std::vector<job::HostStacks>& before,
                 const std::vector<job::HostStacks>& after, Duration passed) {
  if (before.size() != after.size() || passed <= Duration(0)) return false;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (!after[i].trouble.empty() || talks(before[i], after[i], passed)) return false;
  const auto then = counting(before);
  const auto now = counting(after);
  if (now.empty() || then.size() != now.size()) return false;
  return std::all_of(now.begin(), now.end(), [&](const auto& each) {
    const auto earlier = then.find(each.first);
    return earlier != then.end() && stands(*earlier->second, *each.second, passed);
  });
}

std::optional<Duration> quiet_from(std::string_view line, Duration age) {
  if (!line.starts_with(quiet_word)) return std::nullopt;
  const std::optional<std::int64_t> seconds = parse_integer(trim(line.substr(quiet_word.size())));
  if (!seconds || *seconds < 0 || *seconds > quiet_seconds_max) return std::nullopt;
  return std::max<Duration>(std::chrono::seconds(*seconds) - age, Duration(0));
}

std::string hang_text(const std::vector<job::HostStacks>& seen, Duration after) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(after).count();
  std::string text =
      "the job hangs: no output and no progress for " + std::to_string(seconds) + " s";
  const std::vector<Stander> all = standers_of(seen);
  const std::vector<std::size_t> odd = odd_ones(all);
  if (!odd.empty())
    text += "; " + std::string(why_odd(all[odd.front()])) + ": " + names_of(all, odd);
  const std::string waits = gpu_wait_text(seen);
  return waits.empty() ? text : text + "; " + waits;
}

job::Verdict hang_verdict(const std::vector<job::HostStacks>& seen, const std::string& text) {
  const std::vector<Stander> all = standers_of(seen);
  const std::vector<std::size_t> odd = odd_ones(all);
  job::Verdict verdict;
  verdict.outcome = job::Outcome::failed(text);
  verdict.host = seen.empty() ? "algo-1" : seen.front().host;
  if (odd.size() != 1) return verdict;
  verdict.host = all[odd.front()].host;
  verdict.rank = all[odd.front()].rank;
  verdict.process = all[odd.front()].task;
  if (verdict.rank >= 0) verdict.process = "rank " + std::to_string(verdict.rank);
  return verdict;
}

}  // namespace muster::platform
