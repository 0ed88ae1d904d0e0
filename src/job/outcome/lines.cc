#include "job/outcome/lines.h"

#include "base/little_endian.h"

namespace muster::job {
namespace {
constexpr std::size_t header_bytes = 6;
constexpr int flag_part = 1;
constexpr int flag_alone = 2;
constexpr int flag_steps = 4;
}  // namespace

std::string encode(const Lines& lines) {
  CHECK_THAT(lines.bytes.size() <= line_bytes_max, "a chunk of lines too long");
  std::string payload;
  payload.reserve(header_bytes + lines.bytes.size());
  append_number(payload, static_cast<std::uint32_t>(lines.rank), 4);
  payload += static_cast<char>(lines.stream);
  payload += static_cast<char>((lines.part ? flag_part : 0) | (lines.alone ? flag_alone : 0) |
                               (lines.steps ? flag_steps : 0));
  payload += lines.bytes;
  return payload;
}

int rank_of_lines(std::string_view payload) {
  if (payload.size() < header_bytes) return -1;
  return static_cast<int>(static_cast<std::uint32_t>(number_at(payload, 0, 4)));
}

Result<Lines> lines_from(std::string_view payload) {
  if (payload.size() < header_bytes) return fail(Errc::protocol, "lines: truncated");
  if (payload.size() > header_bytes + line_bytes_max)
    return fail(Errc::protocol, "lines: too long");
  Lines lines;
  lines.rank = static_cast<int>(static_cast<std::uint32_t>(number_at(payload, 0, 4)));
  if (payload[4] != static_cast<char>(Stream::out) && payload[4] != static_cast<char>(Stream::err))
    return fail(Errc::protocol, "lines: unknown stream");
  lines.stream = static_cast<Stream>(payload[4]);
  const int flags = payload[5];
  if ((flags & ~(flag_part | flag_alone | flag_steps)) != 0)
    return fail(Errc::protocol, "lines: unknown flags");
  lines.part = (flags & flag_part) != 0;
  lines.alone = (flags & flag_alone) != 0;
  lines.steps = (flags & flag_steps) != 0;
  if (lines.part && lines.steps)
    return fail(Errc::protocol, "lines: a partial line is marked as ended by a carriage return");
  lines.bytes = payload.substr(header_bytes);
  if (lines.rank < -1) return fail(Errc::protocol, "lines: negative rank");
  // Who shows lines puts a tag before each: one that is hidden in a piece would get none.
  const bool has_end = lines.bytes.find('\n') != std::string::npos;
  if (lines.part && has_end)
    return fail(Errc::protocol, "lines: a partial line contains a line end");
  if (!lines.part && !lines.bytes.empty() && lines.bytes.back() != '\n')
    return fail(Errc::protocol, "lines: the last line has no line end");
  return lines;
}

}  // namespace muster::job
