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
/// What OpenSSL says of the last thing that failed.
std::string ssl_reason();

/// One side of a TLS session over a socket, before, during and after its handshake.
class SslWire : public Wire {
 public:
  enum class Side { client, server };
  /// `context` and the socket outlive it; it stays where it is.
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
  /// After a handshake: whether the other side is who it has to be.
  virtual Result<void> proved() { return {}; }
  /// Why OpenSSL gave a handshake up; asked before anything else of OpenSSL.
  virtual Error handshake_error();
  /// An end that the other side did not announce is a cut: bytes may be missing.
  virtual bool end_is_announced() const { return false; }

 private:
  struct Bio;
  Attempt put(const char* bytes, std::size_t count);
  Attempt outcome_of(int result);

  std::unique_ptr<Bio> bio_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace muster::loop
