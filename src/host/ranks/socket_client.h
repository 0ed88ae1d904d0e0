#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/frame.h"

namespace muster::ranks {

/// The blocking end of the host socket, for small programs that send one request to `train`: they
/// start faster without an event loop.
class SocketClient {
 public:
  /// Error: `invalid_input` for an empty or too long path; the kernel's own.
  static Result<SocketClient> connect(const std::string& path);

  /// Sends a frame; copies of `fds` go with it.
  Result<void> send(std::uint8_t type, std::string_view payload, const std::vector<int>& fds = {});
  /// Blocks for the next frame. Error: `closed` when `train` is gone.
  Result<Frame> receive();
  /// Receives without blocking: reads once; call it when poll() reports input. None: no complete
  /// frame yet. More frames may have arrived in the same read, which poll() does not report: call
  /// received() until it is empty.
  Result<std::optional<Frame>> receive_some();
  /// A frame that arrived with an earlier read. Never reads itself.
  Result<std::optional<Frame>> received() { return reader_.next(); }
  int fd() const { return socket_.get(); }

 private:
  explicit SocketClient(Fd socket) : socket_(std::move(socket)) {}
  Result<void> read_once();

  Fd socket_;
  FrameReader reader_;
};

}  // namespace muster::ranks
