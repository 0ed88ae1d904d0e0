#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/frame.h"
#include "base/log.h"
#include "base/time.h"
#include "net/loop/loop.h"

namespace muster::coordinate {

/// A member's side of the roll call: one session with the leader, reconnected until the job starts.
/// Decisions are made by MemberCall (member_call.h); this is its driver. Source:
/// docs/protocols/rollcall.md. Callbacks run on the loop's thread and must not destroy the Member.
class Member {
 public:
  struct Options {
    std::string job;
    std::string host;     ///< Our own name.
    std::string leader;   ///< The leader's name, for messages.
    std::string address;  ///< The leader's address: a name or a numeric address; empty: `leader`.
    std::uint16_t port = 9730;
    std::string key;                                    ///< The job's key, 32 bytes.
    Duration join_deadline = std::chrono::minutes(15);  ///< From open().
    Duration heartbeat = std::chrono::seconds(1);
    Duration lost_after = std::chrono::seconds(5);
  };
  /// Error: `invalid_input`. Nothing is sent before join().
  static Result<std::unique_ptr<Member>> open(loop::Loop& loop, Options options, Log log);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  /// Receives every frame of the leader that is not the roll call's own, in order; `start` is the
  /// first.
  void on_frame(std::function<void(Frame frame)> on_frame);
  /// Called once, if the leader is lost after `start`; `how` as in Outcome::lost.
  void on_lost(std::function<void(const std::string& how)> on_lost);

  /// Connects, with back-off, until the leader has sent `start`: every host has joined. Call once.
  /// Errors: `timeout` (the leader did not answer until the deadline; with the last reason),
  /// `denied` at once (it has another key, speaks another version, does not know us, or gave up:
  /// then the text is the leader's own and names who is missing), `closed` after close().
  loop::Task<Result<void>> join();

  /// Sends a frame to the leader; dropped without a session.
  void post(std::uint8_t type, std::string_view payload);
  /// Waits until the queue has room. Error: `closed` without a session.
  loop::Task<Result<void>> room();
  /// Waits until all posted data has been passed to the kernel. Error: `closed`, `timeout`.
  loop::Task<Result<void>> flushed(TimePoint deadline);
  /// From now on, the leader's disconnection is not a loss (`end` has arrived).
  void expect_end();
  /// Ends everything; waiting calls fail with `closed`. Also done by the destructor.
  void close();

 private:
  struct State;
  explicit Member(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace muster::coordinate
