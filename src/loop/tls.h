#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "loop/channel.h"

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
  /// The next peer that proved the key. Handshakes run side by side, each with a deadline of
  /// `handshake_max`, at most 256 at once (peers not yet accepted count too) and 32 of one address:
  /// for a newcomer the oldest goes that has proved nothing. Those that fail are told to `refused`
  /// and closed. Error: `closed`.
  virtual Task<Result<TlsPeer>> accept() = 0;
  virtual void on_refused(std::function<void(std::string address, std::string why)> refused) = 0;
  virtual void close() = 0;
};

/// The address of this machine by which others reach it as `host`; empty where that is not one
/// alone, or the loopback's.
Task<std::string> own_address_of(Loop& loop, std::string host, TimePoint deadline);

/// Connects and proves the key. A name is looked up beside the loop, so that a slow name server
/// stops nobody. Errors: `not_found` (name), `system` (refused, unreachable), `denied` (the other
/// side has not the key, or refused ours), `closed` (ended before the proof), `protocol` (speaks
/// no TLS 1.3), `timeout`. None of the texts says who was called.
Task<Result<TlsPeer>> tls_connect(Loop& loop, std::string host, std::uint16_t port,
                                  std::string identity, std::string key, TimePoint deadline);

}  // namespace muster::loop
