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
    joined,     ///< The node is there: `node`, `address`.
    began,      ///< The steward runs.
    signalled,  ///< The node's scheduler signalled it to end; the host is being stopped.
    silent,     ///< Nothing is heard of it; `time`: when it was last heard of. After end():
                ///< as soon as the node has closed its connection, for it has heard that.
    back,       ///< The node is heard again.
    ended,      ///< The steward has, and the whole journal is here: `outcome`.
    given,      ///< The result is here; `text`: why it is not, or empty.
  };
  Kind kind = Kind::joined;
  std::string host{};
  UnixMillis time{0};  ///< When it happened, by this machine's clock.
  std::string node{};
  std::string address{};
  job::Outcome outcome{};
  std::string text{};
  std::vector<int> lacks{};  ///< Layers of the job's image that a joined node has not.

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
  /// How long a result that cannot be written here stays on its node and is retried.
  Duration room_max = std::chrono::minutes(5);
  std::vector<std::string> spares{};  ///< "spare-K": nodes that join, and wait.
};

/// The nodes of one attempt. Nothing here waits for a node but next_event(); what is asked of one
/// that is not connected is asked when it is. Gone with its last owner: then its nodes are refused,
/// and go on trying until their own deadlines (docs/protocols/node-link.md).
class AttemptLinks {
 public:
  virtual ~AttemptLinks() = default;

  /// The next event, in order for each host; `silent` and `back` cancel each other out if neither
  /// was taken in time. After a restart of the engine, the current state is reported again. One
  /// waiter. Error: `closed` once the Links are destroyed.
  virtual loop::Task<Result<LinkEvent>> next_event() = 0;
  /// Hosts may run. Once all have joined: their addresses are known then. `preempt_grace`: what
  /// their scheduler adds to its KillWait where it takes nodes away for another job.
  virtual void begin(std::chrono::milliseconds preempt_grace) = 0;
  /// The scheduler is taking the nodes away, which is why it signals them to end.
  virtual void preempted() = 0;
  /// SIGTERM to the host, SIGKILL after `grace`. A second one with a shorter grace shortens it.
  virtual void stop(const std::string& host, std::chrono::milliseconds grace) = 0;
  /// The host is killed and all of it removed on its node, its journal and result too.
  virtual void end(const std::string& host, const std::string& why) = 0;
  /// After `ended`: the host's result is brought into `result/` of its folder, then `given` comes.
  virtual void give(const std::string& host) = 0;
  /// No result of the attempt is wanted any more. Returns when nothing of one is being written.
  virtual loop::Task<void> forget_results() = 0;
  /// The node ends its host, keeps what the job brought, and joins another attempt.
  virtual void again(const std::string& host, const job::NodeAgain& again) = 0;
  /// The node is there to hear that.
  virtual bool can_go_on(const std::string& host) const = 0;
  /// Asks the host's node. Errors: `closed` if the node is not connected, or answers that it
  /// cannot; `unsupported` if nodes do not support the question, or this one has an older muster;
  /// `timeout`.
  virtual loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question question) = 0;
  /// Lines for the host's journal; nothing happens where its node is not connected.
  virtual void note(const std::string& host, const std::vector<job::LogLine>& lines) = 0;
  /// The node may remove everything and go.
  virtual void done(const std::string& host) = 0;
  /// Waits until what was asked has been handed to the kernel of every connected node, or `limit`
  /// has passed: before this is destroyed.
  virtual loop::Task<void> flushed(Duration limit) = 0;
  virtual bool connected(const std::string& host) const = 0;
};

/// An engine's end of the links: one listener for the nodes of all its attempts.
class Links {
 public:
  struct Options {
    std::uint16_t port = 0;  ///< 0: a free one.
    std::string address{};   ///< Numeric; empty: all of this machine.
    job::LinkTiming timing{};
    /// Reports, in one line, a refused peer with the reason, or a copy that cannot be written. At
    /// most 50 about unknown peers.
    std::function<void(std::string)> trouble{};
  };
  /// Error: `system` with the port.
  static Result<std::unique_ptr<Links>> open(loop::Loop& loop, Options options);
  virtual ~Links() = default;

  virtual std::uint16_t port() const = 0;
  /// Errors: `system` with a path; `invalid_input` for a nonce that is expected already.
  virtual Result<std::shared_ptr<AttemptLinks>> expect(ExpectedNodes nodes) = 0;
  /// Orders nodes of an attempt that has ended to end, whatever their state.
  virtual void fence(const std::string& nonce, const std::string& key) = 0;
};

}  // namespace muster::cluster
