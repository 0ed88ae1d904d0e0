#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/frame.h"
#include "base/log.h"
#include "base/time.h"
#include "net/loop/loop.h"

namespace muster::coordinate {

/// The leader's side of the roll call: listens, gathers the members and keeps their sessions alive.
/// Decisions are made by LeaderCall (leader_call.h); this is its driver. Frames of types join,
/// welcome, refuse and heartbeat are handled inside; `start` is sent by gather(). All other types
/// are passed to the caller. Source: docs/protocols/rollcall.md. Callbacks run on the loop's
/// thread; they may call anything here but must not destroy the Leader.
class Leader {
 public:
  struct Options {
    std::string job;
    std::string host;                                   ///< Our own name, one of `hosts`.
    std::vector<std::string> hosts;                     ///< All hosts of the job.
    std::uint16_t port = 9730;                          ///< 0: any free one, see port().
    std::string address{};                              ///< The address to listen on; empty: all.
    std::string key;                                    ///< The job's key, 32 bytes.
    Duration join_deadline = std::chrono::minutes(15);  ///< From open().
    Duration heartbeat = std::chrono::seconds(1);       ///< > 0
    Duration lost_after = std::chrono::seconds(5);      ///< Silence that makes a host lost.
    Duration say_missing_every = std::chrono::seconds(10);
    Duration handshake = std::chrono::seconds(10);
    std::string start = "{}";  ///< The payload of `start`, a JSON object.
  };
  /// Starts listening and admitting members. Errors: `invalid_input`, `system` ("port 9730: ...").
  static Result<std::unique_ptr<Leader>> open(loop::Loop& loop, Options options, Log log);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  ~Leader();
  std::uint16_t port() const;

  /// Receives every frame of a member that is not the roll call's own, in order.
  void on_frame(std::function<void(const std::string& host, Frame frame)> on_frame);
  /// Called once for each member lost after the start; `how` as in Outcome::lost ("no heartbeat for
  /// 5 s").
  void on_lost(std::function<void(const std::string& host, const std::string& how)> on_lost);

  /// Waits until every member has joined, then sends `start` to all: from then on, a member that
  /// disconnects is lost. Until then, members may disconnect and rejoin. Call once. Error:
  /// `timeout` at the deadline, naming the missing members; those that joined have been informed,
  /// and their sessions are closed. `closed` after cancel() or close().
  loop::Task<Result<void>> gather();
  /// Ends the roll call before the start: members' join() and gather() fail with `why`. Does
  /// nothing after the start.
  void cancel(const std::string& why);

  /// Sends a frame. Drops it if the host is not connected.
  void post(const std::string& host, std::uint8_t type, std::string_view payload);
  void post_all(std::uint8_t type, std::string_view payload);
  /// Stops reading from a member until it is released: back-pressure on its data. While the member
  /// is held, its silence does not count, but a broken connection does.
  void hold(const std::string& host, bool held);

  /// From now on, members that disconnect are not lost. Call before `end` is posted.
  void expect_end();
  /// Waits until every member has closed its session, at most until `deadline`. Await this after
  /// `end` was posted: exiting earlier could destroy it in transit.
  loop::Task<void> ended(TimePoint deadline);
  /// Ends everything; waiting calls fail with `closed`. Also done by the destructor.
  void close();

 private:
  struct State;
  explicit Leader(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace muster::coordinate
