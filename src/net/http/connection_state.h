#pragma once

// Inside http/ only.

#include <algorithm>

#include "base/result.h"

namespace muster::http {

/// The state of a connection of the server: three machines, each for itself. An event that has no
/// edge from where its machine is breaks an invariant, or, where so noted, changes nothing.
///
/// Stage: how far its current request is.
///
///     handshake --> idle --> head --+------------> request --+--> replied ---+
///                    ^              |                ^       +--> streaming -+
///                    |              +--> held_back --+       +--> bodiless --+
///                    |                                                       |
///                    +-------------------------------------------------------+
///
/// What may be answered from `request` may be so from `held_back`, and from `head`: a refusal.
///
/// Fate: what becomes of the connection. It only gets worse, by any number of steps.
///
///     open --> closing --> broken --> cut
///                                 +-> expired
///
/// Standing: what its client is to the quota.
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
    request,    ///< The body comes, and an answer is due.
    replied,    ///< By reply().
    streaming,  ///< By start(); its end is the handler's return.
    bodiless,   ///< Likewise, to HEAD.
  };
  enum class Fate {
    open,
    closing,  ///< After this answer, which the client may read in peace.
    broken,   ///< The answer is not whole, and the client is to see that.
    cut,      ///< Whatever waits for the socket ends, now and later.
    expired,  ///< Likewise, since a deadline has passed.
  };
  enum class Standing {
    stranger,
    holding,  ///< A stranger whose request the quota counts in bytes.
    proved,   ///< A request of it was.
  };

  ConnectionState() = default;
  ConnectionState(Stage stage, Fate fate, Standing standing)
      : stage_(stage), fate_(fate), standing_(standing) {}

  Stage stage() const { return stage_; }
  Fate fate() const { return fate_; }
  Standing standing() const { return standing_; }
  bool answered() const { return stage_ > Stage::request; }
  /// What the quota gives up: not if a request has come on a connection that was proved.
  bool may_go() const { return stage_ == Stage::idle || standing_ != Standing::proved; }
  bool is_cut() const { return fate_ >= Fate::cut; }

  void await_request() {
    CHECK_THAT(stage_ == Stage::handshake || answered(), "one request follows the other");
    stage_ = Stage::idle;
  }
  /// Nothing happens where it has begun.
  void begin_head() {
    CHECK_THAT(stage_ == Stage::idle || stage_ == Stage::head, "a request begins once");
    stage_ = Stage::head;
  }
  void read_head(bool held_back) {
    CHECK_THAT(stage_ == Stage::head, "a head is read once");
    stage_ = held_back ? Stage::held_back : Stage::request;
  }
  /// True if the client was held back: it is to be told to go on, unless its body is there.
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

  /// Changes nothing where it was proved.
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
