#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/forward_time.h"
#include "base/frame.h"
#include "host/coordinate/liveness.h"
#include "host/coordinate/rollcall_messages.h"

namespace muster::coordinate {

/// The leader's decisions in the roll call: who is admitted, who is missing, when the job starts,
/// who is lost.
///
/// Pure: no clock, no sockets. Its methods report events, with `now`, which must not go back
/// (base/forward_time.h); take_actions() returns the actions to carry out. Source:
/// docs/protocols/rollcall.md.
class LeaderCall {
 public:
  struct Options {
    std::string host;                ///< Our own name, one of `hosts`.
    std::vector<std::string> hosts;  ///< All hosts of the job.
    std::string muster;              ///< Our program's version.
    Duration join_deadline = std::chrono::minutes(15);
    Duration heartbeat = std::chrono::seconds(1);
    Duration lost_after = std::chrono::seconds(5);
    Duration say_missing_every = std::chrono::seconds(10);
    std::string start = "{}";  ///< The payload of `start`.
  };
  using Session = std::uint64_t;  ///< Chosen by the driver, never used twice.

  struct Action {
    enum class Kind {
      send,     ///< `type` and `text` (the payload) to `session`.
      close,    ///< End `session`; closed() must not be called for it.
      say,      ///< Log `text`.
      start,    ///< Every member has joined and has been sent `start`.
      give_up,  ///< The roll call failed; `text` says who is missing.
      lost,     ///< `host` is lost; `text` says how it was noticed.
    };
    Kind kind = Kind::say;
    Session session = 0;
    std::uint8_t type = 0;
    std::string host = {};
    std::string text = {};
  };

  LeaderCall(Options options, TimePoint now);

  /// A peer proved that it has the key, and claims to be `host` (any name).
  void opened(Session session, const std::string& host, const std::string& address, TimePoint now);
  /// A frame arrived. True if it is for the caller, false if it was the roll call's own.
  bool frame(Session session, const Frame& frame, TimePoint now);
  /// The peer closed the session.
  void closed(Session session, const std::string& how, TimePoint now);
  /// While a host is held, it is not read from and its silence does not count.
  void hold(const std::string& host, bool held, TimePoint now);
  /// Ends the roll call before the start: members receive `why`.
  void cancel(const std::string& why, TimePoint now);
  /// From now on, members that disconnect are not lost.
  void expect_end() { end_expected_ = true; }
  /// Handles the deadlines up to `now`.
  void step(TimePoint now);

  std::optional<TimePoint> next_deadline() const;
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  bool started() const { return phase_ == Phase::started; }
  /// The session of a host that has joined.
  std::optional<Session> session_of(const std::string& host) const;
  std::vector<std::string> missing() const;

 private:
  enum class Phase { gathering, started, failed };
  enum class Stage { proved, joined, dismissed };
  struct Peer {
    std::string host;
    std::string address;
    Stage stage = Stage::proved;
    TimePoint until = {};  ///< `proved`: the deadline of its join; `dismissed`: of its close.
  };

  void on_join(Session session, Peer& peer, const Frame& frame, TimePoint now);
  std::optional<Refuse> objection(const Join& join, const Peer& peer) const;
  void admit(Session session, Peer& peer, TimePoint now);
  void dismiss(Session session, const Refuse& refuse, TimePoint now);
  void give_up(const std::string& why, TimePoint now);
  void drop(Session session);
  void lose(const std::string& host, const std::string& how);
  void expire_silent(TimePoint now);
  bool all_joined() const { return peers_.size() == joined_.size(); }
  void expire_peers(TimePoint now);
  void beat(TimePoint now);
  void say_missing(TimePoint now);
  void say_refused(const Peer& peer, const std::string& why);
  std::string missing_text() const;
  std::string present_text() const;

  void send(Session session, std::uint8_t type, std::string payload);
  void say(std::string text);

  Options options_;
  std::set<std::string> members_;
  ForwardTime time_;
  TimePoint opened_at_;
  TimePoint last_step_;
  TimePoint next_beat_;
  TimePoint next_say_;
  Phase phase_ = Phase::gathering;
  std::string failure_;  ///< Why `phase_` is failed.
  bool end_expected_ = false;
  Liveness liveness_;
  std::map<Session, Peer> peers_;
  std::map<std::string, Session> joined_;
  std::map<std::string, std::string> trouble_;  ///< Why a host that connected has not joined.
  std::map<std::string, std::string> refusals_said_;
  std::vector<Action> actions_;
};

}  // namespace muster::coordinate
