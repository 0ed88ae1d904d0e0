#pragma once

// Inside http/ only: the server's side of a connection, with TLS or without.

#include <sys/uio.h>

#include "loop/socket_bio.h"

namespace muster::http {

/// Bytes over one non-blocking socket that somebody else owns. Nothing in here waits.
class ServerWire {
 public:
  using Attempt = loop::Wire::Attempt;
  virtual ~ServerWire() = default;
  virtual Attempt handshake() { return {}; }
  virtual Attempt read(char* into, std::size_t bytes_max) = 0;
  /// Some of the pieces' bytes. `more`: others follow at once.
  virtual Attempt write(const iovec* pieces, int count, bool more) = 0;
  /// Some bytes of a file. `end` if the file is shorter.
  virtual Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) = 0;
  /// Bytes may be there that poll does not tell of.
  virtual bool buffers() const { return false; }
  virtual void goodbye() {}
};

std::unique_ptr<ServerWire> plain_wire(int socket);
std::unique_ptr<ServerWire> tls_wire(SSL_CTX* context, int socket);

/// Error: `system`: a file cannot be read, or the two are not a pair.
Result<loop::SslContext> https_server_context(const std::string& certificate_file,
                                              const std::string& key_file);

}  // namespace muster::http
