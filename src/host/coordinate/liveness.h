#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/forward_time.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::coordinate {

/// Decides which hosts are silent for too long, from the times at which their data arrived.
///
/// Pure: reads no clock and no socket; callers pass `now`, which must not go back from
/// one event to the next (base/forward_time.h).
/// Source: docs/protocols/rollcall.md, "Heartbeats".
class Liveness {
 public:
  /// `lost_after` > 0: the silence that makes a host lost; several intervals between beats.
  explicit Liveness(Duration lost_after) : lost_after_(lost_after) {}

  /// Starts watching a host, as if its heartbeat had just arrived.
  void add(const std::string& host, TimePoint now);
  void remove(const std::string& host) { hosts_.erase(host); }
  /// Records a beat; any data from a host counts as one. Error: `not_found` for a host that is not
  /// watched, or already lost.
  Result<void> beat(const std::string& host, TimePoint now);
  /// While a host is held, its silence does not count, because it is not read from.
  void hold(const std::string& host, bool held, TimePoint now);
  /// The process itself did not run for a while: every host's silence counts from now.
  void excuse(TimePoint now);
  /// Removes and returns the hosts that became lost by `now`, sorted by name.
  std::vector<std::string> expire(TimePoint now);
  /// True if every watched host has been silent for at least `silence`.
  bool all_silent(Duration silence, TimePoint now) const;
  /// The earliest time `expire` can return something; none without hosts to watch.
  std::optional<TimePoint> next_deadline() const;
  std::size_t size() const { return hosts_.size(); }

 private:
  struct Host {
    TimePoint heard;
    bool held = false;
  };
  Duration lost_after_;
  ForwardTime time_;
  std::map<std::string, Host> hosts_;
};

}  // namespace muster::coordinate
