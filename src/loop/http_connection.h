#pragma once

// Inside loop/ only: one connection of the HTTP client, bytes in and bytes out.

#include <string>

#include "loop/http.h"
#include "loop/http_tls.h"

namespace muster::loop {

/// A connected socket, with TLS or without. Every wait ends at the deadline that it is given.
class HttpConnection {
 public:
  /// `context` is needed for TLS only and outlives the connection. Errors: as HttpClient's.
  static Task<Result<std::unique_ptr<HttpConnection>>> open(Loop& loop, HttpOrigin origin,
                                                            SSL_CTX* context, TimePoint deadline);
  HttpConnection(Loop& loop, Fd socket, std::unique_ptr<Wire> wire);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() { wire_->goodbye(); }

  /// Sends all bytes, or stops as soon as something came from the other side: true if all went.
  Task<Result<bool>> send(std::string_view bytes, Duration idle_max, TimePoint deadline);
  /// Waits until there is something unread; false at the end of the stream.
  Task<Result<bool>> fill(Duration idle_max, TimePoint deadline);
  /// What came and was not yet taken.
  std::string_view unread() const { return std::string_view(inbox_).substr(taken_); }
  void take(std::size_t bytes) { taken_ += bytes; }
  /// Nothing came and it is not closed: it can carry another exchange.
  bool quiet();

 private:
  enum class Wait { ready, idle, deadline };
  Task<Wait> wait(Wire::Kind kind, Duration idle_max, TimePoint deadline);
  Wire::Attempt read_some();

  Loop& loop_;
  Fd socket_;
  std::unique_ptr<Wire> wire_;
  std::string inbox_;
  std::size_t taken_ = 0;
  std::size_t since_turn_ = 0;  ///< Bytes moved without letting others of the loop run.
};

}  // namespace muster::loop
