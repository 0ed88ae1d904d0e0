#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "net/http/client.h"
#include "net/sockets/connection_quota.h"

namespace muster::http {

/// The head of a request. Its texts are valid as long as the exchange.
struct Incoming {
  std::string_view method;
  std::string_view target;  ///< As received: path and query, percent-encoded; starts with "/".
  /// In the order of the request, with trimmed values.
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::string_view peer;  ///< Numeric address, for messages.
  std::uint16_t peer_port = 0;
  bool tls = false;
  std::optional<std::uint64_t> body_bytes;  ///< Content-Length; none: no body, or a chunked one.
  bool chunked = false;

  /// None if there is no such header; names compare without regard to case.
  std::optional<std::string_view> value(std::string_view name) const;
};

/// A response. The server adds Content-Length, Date and Connection; do not set them.
struct Reply {
  int status = 200;
  Headers headers{};
  std::string body{};
  Fd file{};  ///< If valid, its bytes are the body (sent with sendfile if TLS is not used).
  std::uint64_t file_offset = 0;
  std::uint64_t file_bytes = 0;
  bool close = false;  ///< End the connection after it.
};

/// One request and its response. Belongs to the loop that calls the handler; see Server.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Incoming& request() const = 0;
  /// The connection's loop, which runs the handler.
  virtual loop::Loop& loop() = 0;
  /// The next bytes of the body, at most 1 MiB; empty at its end. Valid until the next call. The
  /// first call sends "100 Continue" if the client waits for it. Errors: `closed` (the client
  /// went, or the server stops), `timeout` (nothing came for idle_max), `protocol` (bad chunks).
  virtual loop::Task<Result<std::string_view>> read() = 0;
  /// Sends the response. Call it once, and not together with start(). For HEAD, the body is not
  /// sent, only its length. The unread rest of the request's body is skipped, or the connection
  /// ends. An error (`closed`, `timeout`, `system`) ends the connection automatically: a handler
  /// may ignore it.
  virtual loop::Task<Result<void>> reply(Reply reply) = 0;
  /// Starts a response whose length is not known yet: pass `head` without a body, then call write()
  /// as often as needed. The body ends when the handler returns. Call finish_broken() to cut the
  /// connection, so that the client notices that the body is incomplete.
  virtual loop::Task<Result<void>> start(Reply head) = 0;
  virtual loop::Task<Result<void>> write(std::string_view bytes) = 0;
  virtual void finish_broken() = 0;
  /// True once reply() or start() was called.
  virtual bool answered() const = 0;
  /// The request is signed by the known key `key`: from now on, its connection counts as
  /// authenticated. Connections of one `party` (a job) share a limit; an empty party has none.
  /// False: the party has too many active requests; answer "later" and close the connection.
  virtual bool proved(std::string_view key, std::string_view party) = 0;
  /// Reports whether the client has disconnected, so that work for it can stop. Usable on any
  /// thread, and after the exchange.
  virtual std::function<bool()> gone() const = 0;
  /// Sets the service of the request, for statistics. `name` must be a literal.
  virtual void is_for(std::string_view service) = 0;
  /// Reports how many bytes of the request the handler holds in total. False if all strangers
  /// together hold too much and this one holds the most; respond "later" and close the connection.
  virtual bool keeps(std::size_t bytes) = 0;
};

/// Reads the rest of the body. Errors: as read(), `invalid_input` beyond `bytes_max`, `denied` if
/// strangers' bodies take too much memory together.
loop::Task<Result<std::string>> read_whole(Exchange& exchange, std::size_t bytes_max);

/// A finished request, for logs and statistics.
struct Served {
  std::string_view method;
  std::string_view target;
  std::string_view peer;
  std::string_view service;          ///< Exchange::is_for().
  std::string_view key;              ///< Exchange::proved(); empty: a stranger's.
  int status = 0;                    ///< 0: it ended without an answer.
  std::uint64_t received_bytes = 0;  ///< The body of the request.
  std::uint64_t sent_bytes = 0;      ///< Head and body.
  Duration took{};
};

/// Handles a request, and returns when the response has been started. If it returns without a
/// response, the server responds with 500. Must not be destroyed during an exchange.
using Handler = std::function<loop::Task<void>(Exchange& exchange)>;

/// An HTTP/1.1 server: keep-alive, pipelined requests one after another, chunked bodies in both
/// directions.
///
/// Threads. The server's loop (`main`) accepts; each connection is then assigned in turn to one of
/// `threads` further loops, each on its own thread. Everything of the connection, including the
/// handler, runs on that thread. So a handler may block for short disk I/O, and data that handlers
/// share must be thread-safe. Reach what belongs to `main` (jobs, SQLite, other timers) only by
/// run_on() of net/loop/other_loop.h. With `threads` = 0, everything runs on `main`, and no handler
/// may block. open(), stop() and the destructor belong to main's thread.
class Server {
 public:
  struct Options {
    std::string host = "127.0.0.1";  ///< Numeric; "0.0.0.0" and "::" mean all addresses.
    std::uint16_t port = 0;          ///< 0: a free one.
    int threads = 0;
    std::size_t head_bytes_max = 64u << 10;
    Duration idle_max = std::chrono::seconds(60);  ///< A body, sent or read, without a byte.
    /// Limit for waiting for a request's body, extended at this rate by the bytes received.
    Duration body_wait = std::chrono::seconds(30);
    std::uint64_t body_bytes_a_second_min = 16u << 10;
    Duration keep_alive_max = std::chrono::seconds(75);  ///< Between requests.
    Duration head_max = std::chrono::seconds(20);        ///< From its first byte to its last.
    loop::ConnectionQuota::Limits limits{};  ///< Limits of connections open at the same time.
    std::string certificate_file{};          ///< PEM chain; with it: TLS 1.2 or newer.
    std::string key_file{};                  ///< PEM.
    /// Called after each exchange, on its connection's thread; may be empty.
    std::function<void(const Served&)> on_served{};
  };
  /// Errors: `system` ("127.0.0.1:7700: Address already in use", certificate or key unreadable or
  /// not of one pair), `invalid_input` (host not numeric).
  static Result<std::unique_ptr<Server>> open(loop::Loop& main, Options options, Handler handler);
  virtual ~Server() = default;

  virtual std::uint16_t port() const = 0;
  /// Connections open at the moment.
  virtual std::size_t connections() const = 0;
  /// Accepts no more connections, closes idle ones, and waits for exchanges in progress; cuts those
  /// that have not ended by `deadline`. Returns once all handlers have returned.
  virtual loop::Task<void> stop(TimePoint deadline) = 0;
};

}  // namespace muster::http
