#pragma once

// Inside loop/ and http/ only: TLS by OpenSSL.

#include <openssl/ssl.h>

#include <memory>

#include "net/sockets/wire.h"

namespace muster::loop {

using SslContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

/// A context of `method` for TLS from `version_min` on; no configuration file is read (it may load
/// modules, which a static program cannot). Null if OpenSSL refuses.
SslContext make_ssl_context(const SSL_METHOD* method, int version_min);
/// OpenSSL's text for the last error.
std::string ssl_reason();

/// One side of a TLS session over a socket, before, during and after its handshake.
class SslWire : public Wire {
 public:
  enum class Side { client, server };
  /// `context` and the socket outlive it. It cannot be moved.
  SslWire(SSL_CTX* context, int socket, Side side);
  SslWire(const SslWire&) = delete;
  SslWire& operator=(const SslWire&) = delete;
  ~SslWire() override;

  /// `done` once proved(). `failed`: `closed`, `protocol`, `system`, and what proved() says.
  Attempt handshake() final;
  Attempt read(char* into, std::size_t bytes_max, std::vector<Fd>* fds) final;
  Attempt write(const iovec* pieces, int count, bool more, std::vector<Fd>* fds) final;
  Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) final;
  bool buffers() const final { return true; }
  void goodbye() final;

 protected:
  SSL* ssl() { return ssl_.get(); }
  /// After a handshake: checks the identity of the other side.
  virtual Result<void> proved() { return {}; }
  /// Why the handshake failed. Call it before any other function of OpenSSL.
  virtual Error handshake_error();
  /// An end without a close_notify counts as an error, because bytes may be missing.
  virtual bool end_is_announced() const { return false; }

 private:
  struct Bio;
  Attempt put(const char* bytes, std::size_t count);
  Attempt outcome_of(int result);

  std::unique_ptr<Bio> bio_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace muster::loop
