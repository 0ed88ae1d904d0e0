#pragma once

// Inside http/ only.

#include <algorithm>

#include "base/result.h"

namespace muster::http {

/// The state of a server's connection: three independent state machines. An event without an edge
/// in the current state violates an invariant or, where noted, changes nothing.
///
/// Stage: the progress of its current request.
///
///     handshake --> idle --> head --+------------> request --+--> replied ---+
///                    ^              |                ^       +--> streaming -+
///                    |              +--> held_back --+       +--> bodiless --+
///                    |                                                       |
///                    +-------------------------------------------------------+
///
/// The transitions from `request` are also possible from `held_back`, and from `head`: a refusal.
///
/// Fate: the future of the connection. It only gets worse, by any number of steps.
///
///     open --> closing --> broken --> cut
///                                 +-> expired
///
/// Standing: how the quota classifies its client.
///
///     stranger <--> holding
///     stranger, holding --> proved
class ConnectionState {
 public:
  enum class Stage {
    handshake,
    idle,       ///< Waits for the first byte of a request.
    head,       ///< Some of the head has come.
    held_back,  ///< The client waits for "100 Continue" before it sends the body.
    request,    ///< The body arrives, and a response is due.
    replied,    ///< By reply().
    streaming,  ///< By start(); its end is the handler's return.
    bodiless,   ///< By start(), for HEAD.
  };
  enum class Fate {
    open,
    closing,  ///< Closes after this response, which the client can read to its end.
    broken,   ///< The response is incomplete, and the client must notice that.
    cut,      ///< All current and later waits for the socket end.
    expired,  ///< As cut, because a deadline has passed.
  };
  enum class Standing {
    stranger,
    holding,  ///< A stranger whose request the quota counts in bytes.
    proved,   ///< A request of this client was proved.
  };

  ConnectionState() = default;
  ConnectionState(Stage stage, Fate fate, Standing standing)
      : stage_(stage), fate_(fate), standing_(standing) {}

  Stage stage() const { return stage_; }
  Fate fate() const { return fate_; }
  Standing standing() const { return standing_; }
  bool answered() const { return stage_ > Stage::request; }
  /// True if the quota may close it: never a proved connection with a request.
  bool may_go() const { return stage_ == Stage::idle || standing_ != Standing::proved; }
  bool is_cut() const { return fate_ >= Fate::cut; }

  void await_request() {
    CHECK_THAT(stage_ == Stage::handshake || answered(), "one request follows the other");
    stage_ = Stage::idle;
  }
  /// Does nothing if it has already begun.
  void begin_head() {
    CHECK_THAT(stage_ == Stage::idle || stage_ == Stage::head, "a request begins once");
    stage_ = Stage::head;
  }
  void read_head(bool held_back) {
    CHECK_THAT(stage_ == Stage::head, "a head is read once");
    stage_ = held_back ? Stage::held_back : Stage::request;
  }
  /// True if the client was held back: send it "100 Continue", unless its body is already there.
  bool let_go_on() {
    if (stage_ != Stage::held_back) return false;
    stage_ = Stage::request;
    return true;
  }
  void reply() { answer(Stage::replied); }
  void start(bool has_body) { answer(has_body ? Stage::streaming : Stage::bodiless); }

  void worsen(Fate fate) {
    if (!is_cut()) fate_ = std::max(fate_, fate);
  }

  /// Does nothing if it was proved.
  void hold(bool any) {
    if (standing_ != Standing::proved) standing_ = any ? Standing::holding : Standing::stranger;
  }
  void prove() { standing_ = Standing::proved; }

 private:
  void answer(Stage stage) {
    CHECK_THAT(stage_ > Stage::idle && !answered(), "a request is answered once");
    stage_ = stage;
  }

  Stage stage_ = Stage::handshake;
  Fate fate_ = Fate::open;
  Standing standing_ = Standing::stranger;
};

}  // namespace muster::http
