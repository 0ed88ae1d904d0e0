#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "net/http/url.h"
#include "net/loop/loop.h"

namespace muster::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A range of an open file that is sent as a body.
struct FilePart {
  int fd = -1;  ///< Owned by the caller, who keeps it open until the exchange ends.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  ///< Already percent-encoded; sent unchanged.
  Headers headers{};         ///< Without Host, Content-Length and Connection.
  std::string body{};
  FilePart file{};                        ///< Sent instead of `body` if `fd` is valid.
  TimePoint deadline = TimePoint::max();  ///< For the whole exchange.
};

struct Head {
  int status = 0;
  Headers headers;
  /// Empty if it is missing; names are compared case-insensitively.
  std::string value(std::string_view name) const;
};

/// Receives the body in pieces of at most 64 KiB. If it returns an error, the exchange ends with
/// that error.
using OnBody = std::function<Result<void>(const Head& head, std::string_view bytes)>;

/// The CA roots to trust: the file or folder in AWS_CA_BUNDLE or SSL_CERT_FILE of `env`, otherwise
/// the default path of Debian, RHEL, SUSE or Alpine. Empty if none exists.
std::string find_ca_roots(const Env& env);

/// An HTTP/1.1 client. Exchanges run concurrently, each on a separate connection; kept-alive
/// connections are reused.
class Client {
 public:
  struct Options {
    Duration connect_max = std::chrono::seconds(10);  ///< Name, TCP and TLS together.
    Duration idle_max = std::chrono::seconds(60);     ///< Without a byte sent or received.
    std::size_t head_bytes_max = 64u << 10;
    std::string ca_roots{};  ///< File or folder (find_ca_roots); read at the first https call.
    /// Connects only to public internet addresses that do not belong to this machine, for URLs that
    /// untrusted parties choose. Other addresses fail with `denied`.
    bool public_only = false;
  };
  Client(loop::Loop& loop, Options options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// Sends the request and reads the response to its end; any status is a success. Continues if the
  /// client is destroyed meanwhile. Errors: `invalid_input` (a header with a line break, a file
  /// shorter than declared), `not_found` (the host's name), `system` (refused, reset, CA roots),
  /// `denied` (the certificate, the address), `timeout`, `closed` (ended too early), `protocol`
  /// (not HTTP/1.1, a head beyond the limit), and any error that `on_body` returns.
  loop::Task<Result<Head>> exchange(Origin origin, Request request, OnBody on_body);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::http
