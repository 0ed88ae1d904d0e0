#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// One message on any of our streams (roll call, host socket, steward stream): a type and its
/// payload. On the wire: u32 little-endian length of payload, u8 type, payload.
struct Frame {
  std::uint8_t type = 0;
  std::string payload;

  bool operator==(const Frame&) const = default;
};

constexpr std::size_t frame_payload_bytes_max = (1u << 20) + 4096;

std::string encode(const Frame& frame);
/// Appends the encoding to `out`; `payload` is at most `frame_payload_bytes_max` long.
void append_frame(std::string& out, std::uint8_t type, std::string_view payload);

/// Cuts frames out of bytes as they arrive.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole frame, none if more bytes are needed. Error: `protocol` for a length beyond
  /// `frame_payload_bytes_max`; the stream cannot be read on after that.
  Result<std::optional<Frame>> next();
  /// True if bytes of an unfinished frame are waiting: the stream was cut in the middle.
  bool unfinished() const { return at_ < buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace muster
