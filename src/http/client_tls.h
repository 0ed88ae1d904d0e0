#pragma once

// Inside http/ only: TLS of HTTPS clients.

#include "loop/socket_bio.h"

namespace muster::http {

/// Trusts the roots of a PEM file or of a hashed folder. Error: `system`: none could be read.
Result<loop::SslContext> https_context(const std::string& ca_roots);
/// True for an IPv4 or IPv6 address: a certificate names it as one.
bool is_numeric(const std::string& host);

/// The client's side of a TLS session whose peer proves by certificate that it is `host`.
class ClientTls final : public loop::Wire {
 public:
  ClientTls(SSL_CTX* context, int socket, const std::string& host);
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;
  ~ClientTls() override = default;

  /// One step. `failed`: `denied` (the certificate), `closed`, `protocol`, `system`.
  Attempt handshake();
  Attempt read(char* into, std::size_t bytes_max, std::vector<Fd>& fds) override;
  Attempt write(std::string_view bytes, std::vector<Fd>& fds) override;
  void goodbye() override;

 private:
  loop::SocketBio socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace muster::http
