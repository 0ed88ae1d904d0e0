#pragma once

// Inside loop/ only: OpenSSL set up for TLS 1.3 with a pre-shared key and nothing else.

#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "loop/socket_bio.h"

namespace muster::loop {

using KeyFor = std::function<std::optional<std::string>(const std::string& identity)>;

/// Null if OpenSSL refuses (out of memory, or a build without the suite).
SslContext psk_server_context();
SslContext psk_client_context();

/// One side of a session before, during and after its handshake.
class PskSession final : public Wire {
 public:
  /// `key_for` outlives the handshake.
  static std::unique_ptr<PskSession> server(SSL_CTX* context, int socket, const KeyFor* key_for);
  static std::unique_ptr<PskSession> client(SSL_CTX* context, int socket, std::string identity,
                                            std::string key);
  PskSession(const PskSession&) = delete;
  PskSession& operator=(const PskSession&) = delete;
  ~PskSession() override = default;

  /// One step: `done` (both sides proved the key), what to wait for, or `failed`: `denied` (no
  /// proof), `closed`, `protocol`, `system`.
  Attempt handshake();
  /// Server: what the client claimed, proved after the handshake. Bytes as they came.
  const std::string& identity() const { return identity_; }

  Attempt read(char* into, std::size_t bytes_max, std::vector<Fd>& fds) override;
  Attempt write(std::string_view bytes, std::vector<Fd>& fds) override;
  void goodbye() override;

  // Called by OpenSSL.
  SSL_SESSION* found(std::string identity);
  SSL_SESSION* offered(const unsigned char** identity, std::size_t* size);

 private:
  PskSession(SSL_CTX* context, int socket);
  Attempt outcome_of(int result, bool shaking);
  SSL_SESSION* session_of(const std::string& key);

  SocketBio socket_;
  std::string identity_;
  std::string key_;
  const KeyFor* key_for_ = nullptr;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace muster::loop
