#pragma once

// Inside loop/ only: a socket as OpenSSL sees it. OpenSSL's own socket BIO would raise SIGPIPE.

#include <openssl/ssl.h>

#include <memory>

#include "loop/wire.h"

namespace muster::loop {

using SslContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

/// A context of `method` for TLS from `version_min` on; no configuration file is read (it may load
/// modules, which a static program cannot). Null if OpenSSL refuses.
SslContext make_ssl_context(const SSL_METHOD* method, int version_min);
/// What OpenSSL says of the last thing that failed.
std::string ssl_reason();

/// Carries the bytes of one SSL to and from a non-blocking socket that somebody else owns.
/// It stays where it is and outlives the SSL.
class SocketBio {
 public:
  explicit SocketBio(int socket) : socket_(socket) {}
  SocketBio(const SocketBio&) = delete;
  SocketBio& operator=(const SocketBio&) = delete;

  void attach(SSL* ssl);
  /// What a call on the SSL that did not succeed means. `failed` without a text: OpenSSL gave up
  /// for a reason of its own, in its error queue.
  Wire::Attempt outcome_of(const SSL* ssl, int result) const;

  // Called by OpenSSL.
  int receive(char* into, int bytes_max);
  int send(const char* bytes, int count);

 private:
  int socket_;
  bool ended_ = false;  ///< The other side will send no more.
  int failure_ = 0;     ///< errno of the socket.
};

}  // namespace muster::loop
