#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/sockets/channel.h"

namespace muster::loop {

/// A session of the roll call: TLS 1.3 with a pre-shared key over TCP, no certificates.
/// Source: docs/protocols/rollcall.md; suites and checks were found by trying
/// (docs/decisions/0007-tls-psk.md: TLS with an external key needs TLS_AES_128_GCM_SHA256 alone,
/// and a client must check that the session was resumed from the key).
struct TlsPeer {
  std::unique_ptr<Channel> channel;
  std::string identity;  ///< The PSK identity that the client proved; known on the server side.
  std::string address;   ///< Numeric, for messages.
  std::string own_address = {};  ///< Numeric: this side's, known on the client side.
};

class TlsListener {
 public:
  /// Listens at `port` (0: a free one) of `address`, a numeric one; empty: of all addresses.
  /// `key_for(identity)` gives the 32-byte key or none to refuse. Error: `system` with the port
  /// ("port 9730: Address already in use").
  static Result<std::unique_ptr<TlsListener>> open(
      Loop& loop, std::uint16_t port,
      std::function<std::optional<std::string>(const std::string& identity)> key_for,
      Duration handshake_max = std::chrono::seconds(10), const std::string& address = {});
  virtual ~TlsListener() = default;
  virtual std::uint16_t port() const = 0;
  /// The next peer that proved that it has the key. Handshakes run concurrently, each with a
  /// deadline of `handshake_max`, at most 256 at once (including peers not yet accepted) and 32 per
  /// address: a new connection replaces the oldest one that has proved nothing. Failed handshakes
  /// are reported to `refused` and closed. Error: `closed`.
  virtual Task<Result<TlsPeer>> accept() = 0;
  virtual void on_refused(std::function<void(std::string address, std::string why)> refused) = 0;
  virtual void close() = 0;
};

/// The address of this machine by which others reach it as `host`; empty where that is not one
/// alone, or the loopback's.
Task<std::string> own_address_of(Loop& loop, std::string host, TimePoint deadline);

/// Connects and proves that it has the key. Names are looked up on another thread, so a slow name
/// server does not block the loop. Errors: `not_found` (name), `system` (refused, unreachable),
/// `denied` (the other side does not have the key, or refused ours), `closed` (ended before the
/// proof), `protocol` (no TLS 1.3), `timeout`. The texts do not name the peer.
Task<Result<TlsPeer>> tls_connect(Loop& loop, std::string host, std::uint16_t port,
                                  std::string identity, std::string key, TimePoint deadline);

}  // namespace muster::loop
