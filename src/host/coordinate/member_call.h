#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/forward_time.h"
#include "base/frame.h"
#include "host/coordinate/rollcall_messages.h"

namespace muster::coordinate {

/// A member's decisions in the roll call: when to try again, when to give up, when the job has
/// started, when the leader is lost.
///
/// Pure: no clock, no sockets. Its methods report events, with `now`, which must not go back
/// (base/forward_time.h); take_actions() returns the actions to carry out. Source:
/// docs/protocols/rollcall.md.
class MemberCall {
 public:
  struct Options {
    Join join;           ///< The information about this host.
    std::string leader;  ///< The leader's name, for messages.
    std::string where;   ///< The leader's address and port, for messages.
    Duration join_deadline = std::chrono::minutes(15);
    Duration heartbeat = std::chrono::seconds(1);
    Duration lost_after = std::chrono::seconds(5);
    /// The hosts of a job do not start at the same time: a problem that ends this soon is not
    /// logged.
    Duration say_trouble_after = std::chrono::seconds(2);
    Duration say_waiting_every = std::chrono::seconds(10);
    Backoff::Options backoff = {};
    std::uint32_t seed = 1;  ///< Seed of the random part of the pauses.
  };

  struct Action {
    enum class Kind {
      connect,  ///< Try until `deadline`, then call connected() or not_connected().
      send,     ///< `type` and `text` (the payload).
      close,    ///< End the connection; closed() must not be called for it.
      say,      ///< Log `text`.
      started,  ///< The leader sent `start`.
      fail,     ///< The roll call failed with `error`.
      lost,     ///< The leader is lost after the start; `text` says how it was noticed.
    };
    Kind kind = Kind::say;
    TimePoint deadline = {};
    std::uint8_t type = 0;
    std::string text = {};
    Error error = {};
  };

  /// `join` encodes (see encode(Join)).
  MemberCall(Options options, TimePoint now);

  /// Starts connecting.
  void begin(TimePoint now);
  void connected(TimePoint now);
  void not_connected(const Error& why, TimePoint now);
  /// A frame arrived. True if it is for the caller, false if it was the roll call's own.
  bool frame(const Frame& frame, TimePoint now);
  /// The peer closed the connection.
  void closed(const std::string& how, TimePoint now);
  /// From now on, the leader's disconnection is not a loss.
  void expect_end() { end_expected_ = true; }
  void step(TimePoint now);

  std::optional<TimePoint> next_deadline() const;
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  bool started() const { return stage_ == Stage::started; }

 private:
  enum class Stage { idle, connecting, pausing, joining, welcomed, started, over };

  bool in_session() const {
    return stage_ == Stage::joining || stage_ == Stage::welcomed || stage_ == Stage::started;
  }
  bool on_start(const Frame& frame);
  void on_welcome(const Frame& frame, TimePoint now);
  void on_refuse(const Frame& frame, TimePoint now);
  void hang_up(const std::string& how, TimePoint now);
  void try_again(const std::string& how, TimePoint now);
  bool waits() const { return stage_ != Stage::idle && !started() && stage_ != Stage::over; }
  void say_waiting(TimePoint now);
  void connect(TimePoint now);
  void give_up(Errc code, const std::string& why);
  void close();
  void send(std::uint8_t type, std::string payload);
  std::string leader_text() const { return options_.leader + " at " + options_.where; }

  Options options_;
  ForwardTime time_;
  Stage stage_ = Stage::idle;
  TimePoint deadline_;
  TimePoint opened_at_;
  TimePoint resume_;  ///< With `pausing`.
  TimePoint next_beat_;
  TimePoint heard_;  ///< When the leader's last data arrived.
  TimePoint last_step_;
  bool was_welcome_ = false;
  bool end_expected_ = false;
  std::string last_reason_ = "no answer yet";
  std::string refused_;  ///< The error when this host's key was refused; empty: it was not.
  TimePoint next_say_;   ///< While waiting.
  Backoff backoff_;
  std::minstd_rand chance_;
  std::vector<Action> actions_;
};

}  // namespace muster::coordinate
