#pragma once

#include "net/sockets/channel.h"

namespace muster::loop {

/// A channel over a unix stream socket, which can also carry descriptors. Descriptors travel with
/// the frame they were posted with.
class UnixChannel : public Channel {
 public:
  /// As post(); `fds` are sent along (at most 4) and closed here afterwards.
  virtual void post_with_fds(std::uint8_t type, std::string_view payload, std::vector<Fd> fds) = 0;
  /// Descriptors that came with the frame that receive() returned last; moved out.
  virtual std::vector<Fd> take_fds() = 0;
};

/// Takes over a connected socket.
std::unique_ptr<UnixChannel> unix_channel(Loop& loop, Fd socket);
/// Error: `not_found`, `denied`, `system`, with the path.
Result<std::unique_ptr<UnixChannel>> unix_connect(Loop& loop, const std::string& path);

/// Listens at `path` (mode 0600); removes the path when destroyed.
class UnixListener {
 public:
  static Result<std::unique_ptr<UnixListener>> open(Loop& loop, const std::string& path);
  virtual ~UnixListener() = default;
  /// Error: `closed` after close(); a peer of another uid than root or our own is dropped silently.
  virtual Task<Result<std::unique_ptr<UnixChannel>>> accept() = 0;
  virtual void close() = 0;
};

}  // namespace muster::loop
