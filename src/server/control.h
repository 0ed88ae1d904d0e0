#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "net/loop/tasks.h"
#include "net/sockets/unix.h"

namespace muster::server {

/// The socket in a running server's data folder, by which commands on the same machine notify it.
/// Only root and the server's own user can connect. Source: docs/protocols/server-config.md, "The
/// data folder".
///
/// A command first changes the store and then notifies the server, and a server listens before it
/// reads the store. So a server that cannot be notified has read the change already, or will read
/// it.

/// What a server answers to: `request` is an object; its "do" says what.
using ControlHandler = std::function<Result<Json>(const Json& request)>;

class Control {
 public:
  /// Listens; those who call wait until serve(). The caller holds the folder's lock.
  static Result<std::unique_ptr<Control>> open(loop::Loop& loop, const std::string& data);
  /// Answers from now on. Call it once.
  void serve(ControlHandler handler);

 private:
  Control(loop::Loop& loop, std::unique_ptr<loop::UnixListener> listener)
      : listener_(std::move(listener)), tasks_(loop) {}
  loop::Task<> accept_all();
  loop::Task<> serve_peer(std::unique_ptr<loop::UnixChannel> peer);

  std::unique_ptr<loop::UnixListener> listener_;
  ControlHandler handler_;
  loop::Tasks tasks_;
};

/// Sends a request to the server that works on `data`, and waits for its response: blocks, at most
/// half a minute. Null if no server runs, or if it ends meanwhile. Errors: `timeout`, `protocol`,
/// `denied`; `system` with the server's own words.
Result<Json> tell_server(const std::string& data, const Json& request);

}  // namespace muster::server
