#pragma once

// Inside loop/ and http/ only: what channels and HTTP connections move their bytes through.

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster::loop {

/// Bytes over one non-blocking socket that another object owns: TCP or unix (plain_wire), or TLS
/// over it (net/sockets/ssl_wire.h). All calls return at once; none waits.
class Wire {
 public:
  enum class Kind { done, want_read, want_write, end, failed };
  struct Attempt {
    Kind kind = Kind::done;
    std::size_t bytes = 0;  ///< With `done`; > 0.
    Error error = {};       ///< With `failed`.
  };
  virtual ~Wire() = default;
  /// A step of the handshake before the first byte. Never `end`.
  virtual Attempt handshake() { return {}; }
  /// Descriptors that arrived with the bytes are added to `fds`, if it is not null.
  virtual Attempt read(char* into, std::size_t bytes_max, std::vector<Fd>* fds) = 0;
  /// Sends some bytes of the pieces, which must not be empty. `more`: others follow immediately.
  /// `fds`, which may be null, are sent with the first byte and then cleared. Never `end`.
  virtual Attempt write(const iovec* pieces, int count, bool more, std::vector<Fd>* fds) = 0;
  /// Sends some bytes of a file. `end` if the file is shorter.
  virtual Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) = 0;
  /// True if there may be bytes that poll() does not report.
  virtual bool buffers() const { return false; }
  /// Sends a close notification, if this is possible without waiting.
  virtual void goodbye() {}

  Attempt read(char* into, std::size_t bytes_max) { return read(into, bytes_max, nullptr); }
  Attempt write(std::string_view bytes, std::vector<Fd>* fds = nullptr) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    return write(&piece, 1, false, fds);
  }
};

constexpr std::size_t wire_fds_max = 4;  ///< Per frame; further descriptors that arrive are closed.

/// Descriptors pass over unix sockets only.
std::unique_ptr<Wire> plain_wire(int socket);

}  // namespace muster::loop
