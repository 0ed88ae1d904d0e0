#include "job/lines.h"

namespace muster::job {
namespace {
constexpr std::size_t header_bytes = 6;
constexpr int flag_part = 1;
constexpr int flag_alone = 2;
}  // namespace

std::string encode(const Lines& lines) {
  CHECK_THAT(lines.bytes.size() <= line_bytes_max, "a chunk of lines too long");
  std::string payload;
  payload.reserve(header_bytes + lines.bytes.size());
  const std::uint32_t rank = static_cast<std::uint32_t>(lines.rank);
  for (unsigned shift = 0; shift < 32; shift += 8)
    payload += static_cast<char>(static_cast<unsigned char>(rank >> shift));
  payload += static_cast<char>(lines.stream);
  payload += static_cast<char>((lines.part ? flag_part : 0) | (lines.alone ? flag_alone : 0));
  payload += lines.bytes;
  return payload;
}

Result<Lines> lines_from(std::string_view payload) {
  if (payload.size() < header_bytes) return fail(Errc::protocol, "lines cut short");
  if (payload.size() > header_bytes + line_bytes_max) return fail(Errc::protocol, "lines too long");
  Lines lines;
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < 4; ++i)
    rank |= static_cast<std::uint32_t>(static_cast<unsigned char>(payload[i])) << (8 * i);
  lines.rank = static_cast<int>(rank);
  if (payload[4] != static_cast<char>(Stream::out) && payload[4] != static_cast<char>(Stream::err))
    return fail(Errc::protocol, "lines of an unknown stream");
  lines.stream = static_cast<Stream>(payload[4]);
  const int flags = payload[5];
  if ((flags & ~(flag_part | flag_alone)) != 0)
    return fail(Errc::protocol, "lines with unknown flags");
  lines.part = (flags & flag_part) != 0;
  lines.alone = (flags & flag_alone) != 0;
  lines.bytes = payload.substr(header_bytes);
  return lines;
}

}  // namespace muster::job
