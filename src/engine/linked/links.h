#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/chapter.h"
#include "engine/engine.h"
#include "job/host_spec.h"
#include "job/outcome/outcome.h"
#include "job/wire/journal.h"
#include "job/wire/node_messages.h"
#include "net/loop/loop.h"

namespace muster::cluster {

/// An event on the link of a node.
struct LinkEvent {
  enum class Kind {
    joined,     ///< The node has connected: `node`, `address`.
    began,      ///< The steward is running.
    signalled,  ///< The node's scheduler signalled it to end; the host is being stopped.
    silent,  ///< The node does not respond; `time`: its last message. After end(), reported as soon
             ///< as the node closes its connection, because it has then received the order.
    back,    ///< The node responds again.
    ended,   ///< The steward has ended, and the whole journal has arrived: `outcome`.
    given,   ///< The result has arrived; `text`: why it could not be stored, or empty.
  };
  Kind kind = Kind::joined;
  std::string host{};
  UnixMillis time{0};  ///< When it happened, by this machine's clock.
  std::string node{};
  std::string address{};
  job::Outcome outcome{};
  std::string text{};
  std::vector<int> lacks{};  ///< Layers of the job's image that a node lacks when it joins.

  bool operator==(const LinkEvent&) const = default;
};

/// An attempt whose nodes may connect.
struct ExpectedNodes {
  std::string nonce;               ///< 16 hex digits.
  std::string key;                 ///< 32 bytes.
  std::vector<std::string> hosts;  ///< "algo-K"; any order.
  /// An existing folder. Files of a host go to `<folder>/algo-K`: `journal`, a copy, and `result/`,
  /// which is complete once it has that name. Existing files are continued.
  std::string folder;
  engine::Chapters chapters{};  ///< Where this attempt's part of each journal begins.
  /// How long a result that cannot be written here is kept on its node and retried.
  Duration room_max = std::chrono::minutes(5);
  std::vector<std::string> spares{};  ///< "spare-K": nodes that wait until they are needed.
};

/// The nodes of one attempt. Only next_event() waits for a node; requests to a node that is not
/// connected are sent when it connects. When the last owner releases this object, its nodes are
/// refused, and keep trying to connect until their own deadlines (docs/protocols/node-link.md).
class AttemptLinks {
 public:
  virtual ~AttemptLinks() = default;

  /// The next event, in order for each host; `silent` and `back` cancel each other out if neither
  /// was taken in time. After a restart of the engine, the current state is reported again. One
  /// waiter. Error: `closed` once the Links are destroyed.
  virtual loop::Task<Result<LinkEvent>> next_event() = 0;
  /// Starts the hosts. Call it once all have joined, because their addresses are then known.
  /// `preempt_grace`: the time that the scheduler adds to its KillWait when it preempts the job.
  virtual void begin(std::chrono::milliseconds preempt_grace) = 0;
  /// Notes that the scheduler's signals to end are caused by a preemption.
  virtual void preempted() = 0;
  /// Sends SIGTERM to the host, and SIGKILL after `grace`. A second call can only shorten the grace
  /// period.
  virtual void stop(const std::string& host, std::chrono::milliseconds grace) = 0;
  /// Kills the host and removes everything of it on its node, including its journal and result.
  virtual void end(const std::string& host, const std::string& why) = 0;
  /// After `ended`: transfers the host's result to `result/` in its folder, then reports `given`.
  virtual void give(const std::string& host) = 0;
  /// Cancels the transfer of all results of the attempt. Returns once no result is being written.
  virtual loop::Task<void> forget_results() = 0;
  /// Orders the node to end its host, keep the copied files, and join another attempt.
  virtual void again(const std::string& host, const job::NodeAgain& again) = 0;
  /// True if the node can receive again().
  virtual bool can_go_on(const std::string& host) const = 0;
  /// Asks the host's node. Errors: `closed` if the node is not connected, or cannot answer;
  /// `unsupported` if nodes do not support the question, or if the node runs an older version of
  /// muster; `timeout`.
  virtual loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question question) = 0;
  /// Adds lines to the host's journal; does nothing if its node is not connected.
  virtual void note(const std::string& host, const std::vector<job::LogLine>& lines) = 0;
  /// Tells the node that it can remove everything and exit.
  virtual void done(const std::string& host) = 0;
  /// Waits until all requests to connected nodes have been written to their sockets, or `limit` has
  /// passed. Call it before destroying this object.
  virtual loop::Task<void> flushed(Duration limit) = 0;
  virtual bool connected(const std::string& host) const = 0;
};

/// The engine's side of the links: one listener for the nodes of all its attempts.
class Links {
 public:
  struct Options {
    std::uint16_t port = 0;  ///< 0: any free port.
    std::string address{};   ///< Numeric; empty: all addresses of this machine.
    job::LinkTiming timing{};
    /// Reports a rejected peer with the reason, or a copy that cannot be written, in one line. At
    /// most 50 reports are about unknown peers.
    std::function<void(std::string)> trouble{};
  };
  /// Error: `system` with the port.
  static Result<std::unique_ptr<Links>> open(loop::Loop& loop, Options options);
  virtual ~Links() = default;

  virtual std::uint16_t port() const = 0;
  /// Errors: `system` with a path; `invalid_input` if an attempt with this nonce already exists.
  virtual Result<std::shared_ptr<AttemptLinks>> expect(ExpectedNodes nodes) = 0;
  /// Orders all nodes of an attempt that has ended to exit.
  virtual void fence(const std::string& nonce, const std::string& key) = 0;
};

}  // namespace muster::cluster
