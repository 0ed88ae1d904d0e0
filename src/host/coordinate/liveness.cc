#include "host/coordinate/liveness.h"

#include <algorithm>

namespace muster::coordinate {

void Liveness::add(const std::string& host, TimePoint now) {
  time_.advance(now);
  hosts_[host] = {now, false};
}

Result<void> Liveness::beat(const std::string& host, TimePoint now) {
  time_.advance(now);
  const auto found = hosts_.find(host);
  if (found == hosts_.end())
    return fail(Errc::not_found, "host " + host + " is not being monitored");
  found->second.heard = now;
  return {};
}

void Liveness::hold(const std::string& host, bool held, TimePoint now) {
  time_.advance(now);
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || found->second.held == held) return;
  found->second = {now, held};
}

void Liveness::excuse(TimePoint now) {
  time_.advance(now);
  for (auto& [name, host] : hosts_) host.heard = now;
}

std::vector<std::string> Liveness::expire(TimePoint now) {
  time_.advance(now);
  std::vector<std::string> lost;
  for (const auto& [name, host] : hosts_)
    if (!host.held && now - host.heard >= lost_after_) lost.push_back(name);
  for (const std::string& name : lost) hosts_.erase(name);
  return lost;
}

bool Liveness::all_silent(Duration silence, TimePoint now) const {
  return std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& item) {
    return !item.second.held && now - item.second.heard >= silence;
  });
}

std::optional<TimePoint> Liveness::next_deadline() const {
  std::optional<TimePoint> first;
  for (const auto& [name, host] : hosts_)
    if (!host.held && (!first || host.heard + lost_after_ < *first))
      first = host.heard + lost_after_;
  return first;
}

}  // namespace muster::coordinate
