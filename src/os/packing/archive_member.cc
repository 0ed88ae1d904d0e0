#include "os/packing/archive_member.h"

#include <cstdio>
#include <utility>

#include "base/text.h"

namespace muster::packing {

Placed placed(std::string_view name) {
  Placed out;
  std::string part;
  const auto flush = [&out, &part] {
    if (part == "..") out.changed = true;
    if (!part.empty() && part != "." && part != "..") out.parts.push_back(part);
    part.clear();
  };
  if (name.starts_with('/')) out.changed = true;
  for (const char byte : name) {
    if (byte == '\\') out.changed = true;
    if (byte == '/' || byte == '\\')
      flush();
    else
      part += byte;
  }
  flush();
  return out;
}

unsigned placed_mode(unsigned mode) {
  mode &= 0755;
  if ((mode & 0100) == 0) mode &= ~0111u;
  return mode | 0600;
}

std::string shown(std::string_view name) {
  constexpr std::size_t most = 160;
  if (name.size() > most)
    return shown(name.substr(0, most / 2)) + "…" + shown(name.substr(name.size() - most / 2));
  std::string out = "'";
  for (std::size_t i = 0; i < name.size();) {
    std::size_t length = 1;  // Bytes of the character that starts here.
    while (length < 4 && !is_utf8(name.substr(i, length))) ++length;
    const std::string_view character = name.substr(i, length);
    const unsigned char first = static_cast<unsigned char>(character[0]);
    const bool plain = first >= 0x20 && first != 0x7f && is_utf8(character);
    if (plain) {
      out += character;
      i += length;
      continue;
    }
    char text[5];
    static_cast<void>(std::snprintf(text, sizeof text, "\\x%02x", first));
    out += text;
    ++i;
  }
  return out + "'";
}

}  // namespace muster::packing
