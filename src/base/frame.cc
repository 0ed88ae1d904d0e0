#include "base/frame.h"

namespace muster {
namespace {
constexpr std::size_t header_bytes = 5;
}

void append_frame(std::string& out, std::uint8_t type, std::string_view payload) {
  CHECK_THAT(payload.size() <= frame_payload_bytes_max, "frame payload too long");
  for (unsigned shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(static_cast<unsigned char>(payload.size() >> shift));
  out += static_cast<char>(type);
  out += payload;
}

std::string encode(const Frame& frame) {
  std::string bytes;
  bytes.reserve(header_bytes + frame.payload.size());
  append_frame(bytes, frame.type, frame.payload);
  return bytes;
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.size() >= header_bytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length |= static_cast<std::size_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
    if (length > frame_payload_bytes_max)
      return fail(Errc::protocol, "frame of " + std::to_string(length) + " bytes, limit " +
                                      std::to_string(frame_payload_bytes_max));
    if (rest.size() >= header_bytes + length) {
      Frame frame{static_cast<std::uint8_t>(rest[4]),
                  std::string(rest.substr(header_bytes, length))};
      at_ += header_bytes + length;
      return std::optional<Frame>(std::move(frame));
    }
  }
  buffer_.erase(0, at_);
  at_ = 0;
  return std::optional<Frame>();
}

}  // namespace muster
