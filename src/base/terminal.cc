#include "base/terminal.h"

#include <unistd.h>

#include <cstddef>

#include "base/fd.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_byte(std::string& out, char c) {
  out += "\\x";
  out += hex(std::string_view(&c, 1));
}

void append_code_point(std::string& out, unsigned code_point) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += hex_digits[(code_point >> shift) & 15];
}

/// The code point of two or three bytes of UTF-8: no control character is longer.
unsigned code_point_of(std::string_view character) {
  const auto low = [&](std::size_t i) { return static_cast<unsigned char>(character[i]) & 0x3Fu; };
  const unsigned first = static_cast<unsigned char>(character[0]);
  if (character.size() == 2) return (first & 0x1F) << 6 | low(1);
  return (first & 0x0F) << 12 | low(1) << 6 | low(2);
}

/// A character beyond ASCII that orders a terminal about, or the direction of its text (UAX #9).
bool is_order(unsigned code_point) {
  return (code_point >= 0x80 && code_point <= 0x9F) || code_point == 0x2028 ||
         code_point == 0x2029 || (code_point >= 0x202A && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

/// ASCII that shows as itself.
bool is_plain(char c) {
  return c >= ' ' && c < 0x7F;
}

/// Appends the character at the beginning of `bytes`, beyond ASCII; returns how many bytes it took.
std::size_t append_wide(std::string& out, std::string_view bytes) {
  const std::size_t length = utf8_length(bytes);
  if (length == 0) {
    append_byte(out, bytes[0]);
    return 1;
  }
  const std::string_view character = bytes.substr(0, length);
  const unsigned code_point = length < 4 ? code_point_of(character) : 0;
  if (is_order(code_point))
    append_code_point(out, code_point);
  else
    out += character;
  return length;
}

/// A newline is shown as `further`.
std::string escaped(std::string_view bytes, std::string_view further) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    std::size_t run = 0;
    while (run < bytes.size() && is_plain(bytes[run])) ++run;
    out += bytes.substr(0, run);
    bytes.remove_prefix(run);
    if (bytes.empty()) break;
    const char c = bytes[0];
    if (static_cast<unsigned char>(c) >= 0x80) {
      bytes.remove_prefix(append_wide(out, bytes));
      continue;
    }
    if (c == '\n')
      out += further;
    else if (c == '\t')
      out += c;
    else if (c != '\r' || !bytes.substr(1).starts_with('\n'))
      append_byte(out, c);
    bytes.remove_prefix(1);
  }
  return out;
}

}  // namespace

std::string visible(std::string_view bytes) {
  return escaped(bytes, "\n");
}

std::string visible_line(std::string_view bytes) {
  return escaped(bytes, "\\x0a");
}

std::string visible_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::size_t run = 0;
    while (run < json.size() && static_cast<unsigned char>(json[run]) < 0x7F) ++run;
    out += json.substr(0, run);
    json.remove_prefix(run);
    if (json.empty()) break;
    if (json[0] != 0x7F) {
      json.remove_prefix(append_wide(out, json));
      continue;
    }
    append_code_point(out, 0x7F);
    json.remove_prefix(1);
  }
  return out;
}

Result<void> say(int fd, std::string_view text) {
  return ::isatty(fd) == 1 ? write_all(fd, visible(text)) : write_all(fd, text);
}

Result<void> say_line(int fd, std::string_view name, std::string_view text) {
  std::string line(name);
  line += ": ";
  line += ::isatty(fd) == 1 ? escaped(text, "\n  ") : std::string(text);
  line += '\n';
  return write_all(fd, line);
}

}  // namespace muster
