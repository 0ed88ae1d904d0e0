#pragma once

// Inside http/ only: TLS with certificates.

#include "net/sockets/ssl_wire.h"

namespace muster::http {

/// Trusts the roots of a PEM file or of a hashed folder. Error: `system`: none could be read.
Result<loop::SslContext> https_context(const std::string& ca_roots);
/// True for an IPv4 or IPv6 address: a certificate names it as one.
bool is_numeric(const std::string& host);

/// Error: `system`: a file cannot be read, or the two are not a pair.
Result<loop::SslContext> https_server_context(const std::string& certificate_file,
                                              const std::string& key_file);

/// The client's side of a TLS session whose peer proves by certificate that it is `host`: `denied`
/// if not. A response that has no length must not pass for whole when it was cut.
class ClientTls final : public loop::SslWire {
 public:
  ClientTls(SSL_CTX* context, int socket, const std::string& host);

 private:
  Error handshake_error() override;
  bool end_is_announced() const override { return true; }
};

}  // namespace muster::http
