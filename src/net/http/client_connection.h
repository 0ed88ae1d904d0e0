#pragma once

// Inside http/ only: one connection of the HTTP client, bytes in and bytes out.

#include <string>

#include "net/http/client.h"
#include "net/sockets/ssl_wire.h"

namespace muster::http {

/// A connected socket, with TLS or without. Every wait has a deadline.
class ClientConnection {
 public:
  /// `context` is needed only for TLS and outlives the connection. Errors: as for Client.
  static loop::Task<Result<std::unique_ptr<ClientConnection>>> open(loop::Loop& loop, Origin origin,
                                                                    SSL_CTX* context,
                                                                    TimePoint deadline,
                                                                    bool public_only);
  ClientConnection(loop::Loop& loop, Fd socket, std::unique_ptr<loop::Wire> wire);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  ~ClientConnection() { wire_->goodbye(); }

  /// Sends bytes until all are sent, which returns true, or until data arrives from the other side.
  loop::Task<Result<bool>> send(std::string_view bytes, Duration idle_max, TimePoint deadline);
  /// Waits until there is something unread; false at the end of the stream.
  loop::Task<Result<bool>> fill(Duration idle_max, TimePoint deadline);
  /// The received bytes that have not been consumed yet.
  std::string_view unread() const { return std::string_view(inbox_).substr(taken_); }
  void take(std::size_t bytes) { taken_ += bytes; }
  /// True if nothing was received and the connection is open, so that it can be used for another
  /// exchange.
  bool quiet();

 private:
  enum class Wait { ready, idle, deadline };
  loop::Task<Wait> wait(loop::Wire::Kind kind, Duration idle_max, TimePoint deadline);
  loop::Wire::Attempt read_some();

  loop::Loop& loop_;
  Fd socket_;
  std::unique_ptr<loop::Wire> wire_;
  std::string inbox_;
  std::size_t taken_ = 0;
  std::size_t since_turn_ = 0;  ///< Bytes moved without letting others of the loop run.
};

}  // namespace muster::http
