#include "base/frame.h"

#include "base/little_endian.h"

namespace muster {
namespace {
constexpr std::size_t header_bytes = 5;
}

void append_frame(std::string& out, std::uint8_t type, std::string_view payload) {
  CHECK_THAT(payload.size() <= frame_payload_bytes_max, "frame payload too long");
  append_number(out, payload.size(), 4);
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
    const std::size_t length = number_at(rest, 0, 4);
    if (length > frame_payload_bytes_max)
      return fail(Errc::protocol, "frame of " + std::to_string(length) +
                                      " bytes exceeds the limit of " +
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
