#pragma once

// Inside loop/ only: OpenSSL set up for TLS 1.3 with a pre-shared key and nothing else.

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/sockets/ssl_wire.h"

namespace muster::loop {

using KeyFor = std::function<std::optional<std::string>(const std::string& identity)>;

/// Null if OpenSSL refuses (out of memory, or a build without the suite).
SslContext psk_server_context();
SslContext psk_client_context();

/// One side of a session whose handshake proves the key to both. Fails with `denied` without it.
class PskSession final : public SslWire {
 public:
  /// `key_for` outlives the handshake.
  static std::unique_ptr<PskSession> server(SSL_CTX* context, int socket, const KeyFor* key_for);
  static std::unique_ptr<PskSession> client(SSL_CTX* context, int socket, std::string identity,
                                            std::string key);
  /// Server side: the identity that the client sent; authenticated after the handshake. Raw bytes.
  const std::string& identity() const { return identity_; }

  // Called by OpenSSL.
  SSL_SESSION* found(std::string identity);
  SSL_SESSION* offered(const unsigned char** identity, std::size_t* size);

 private:
  PskSession(SSL_CTX* context, int socket, Side side);
  Result<void> proved() override;
  Error handshake_error() override;
  SSL_SESSION* session_of(const std::string& key);

  std::string identity_;
  std::string key_;
  const KeyFor* key_for_ = nullptr;
};

}  // namespace muster::loop
