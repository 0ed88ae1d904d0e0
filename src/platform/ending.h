#pragma once

namespace muster::platform {

/// Why a job ends: two state machines, which both see every event. An event without an edge in the
/// current state changes nothing.
///
///     Heard: reports of its hosts
///
///                 +--success--> success --request--+
///       nothing --+                                +--> success_and_request
///                 +--request--> request --success--+
///       nothing, success --failure--> failure
///
///     Stopped: events from outside
///
///              +--stop, stopped_outside-----> on_request --ended_by_limit--+
///         no --+--time_is_up, ended_by_limit-------------------------------+--> time_limit
///              +--wait_is_up----------------> wait_limit
///
/// `stop`, `time_is_up` and `wait_is_up` count only while nothing was heard: an earlier report of
/// the hosts stays the reason. After a `request`, `stopped_outside` and `ended_by_limit` say who
/// made it; `stopped_outside` counts only if there was no success. Only after a `request` does a
/// limit replace a stop.
class Ending {
 public:
  enum class Heard {
    nothing,
    success,              ///< The leader's.
    request,              ///< The first host to fail had been asked to end, but not by muster.
    success_and_request,  ///< Both, in either order.
    failure,
  };
  enum class Stopped {
    no,
    on_request,  ///< Requested by the user or by an operator of the cluster.
    time_limit,
    wait_limit,  ///< The limit of queue time plus run time.
  };
  Ending() = default;
  Ending(Heard heard, Stopped stopped) : heard_(heard), stopped_(stopped) {}

  void success();
  /// False if a host had failed before.
  bool failure(bool by_request);
  void stop();
  /// Someone else stopped a host: counts like a stop by the user.
  void stopped_outside();
  void time_is_up();
  void wait_is_up();
  /// The scheduler ended a host when the job's time was up.
  void ended_by_limit();

  Heard heard() const { return heard_; }
  Stopped stopped() const { return stopped_; }
  bool goes_on() const { return heard_ == Heard::nothing && stopped_ == Stopped::no; }
  bool failed() const { return heard_ != Heard::nothing && heard_ != Heard::success; }
  /// The next status to show is the end.
  bool is_cut_short() const { return failed() || stopped_ != Stopped::no; }

  bool operator==(const Ending&) const = default;

 private:
  Heard heard_ = Heard::nothing;
  Stopped stopped_ = Stopped::no;
};

}  // namespace muster::platform
