// Bytes of a job on their way to a terminal: nothing that comes out orders it about.
#include "base/terminal.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"

namespace muster {

namespace {

/// The code points that this forbids are listed here once more on purpose: by range, not by rule.
bool is_forbidden(unsigned code_point) {
  if (code_point == '\n' || code_point == '\t') return false;
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) ||
         (code_point >= 0x2028 && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

void check_shown(std::string_view text) {
  CHECK_THAT(is_utf8(text), "what is shown is UTF-8");
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned code_point = byte(0);
    if (length > 1) code_point &= 0x7Fu >> length;
    for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte(i) & 0x3Fu);
    CHECK_THAT(!is_forbidden(code_point), "no character is an order");
    text.remove_prefix(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string shown = visible(bytes);
  check_shown(shown);
  CHECK_THAT(visible(shown) == shown, "what is visible stays");
  const std::string line = visible_line(bytes);
  check_shown(line);
  CHECK_THAT(line.find('\n') == std::string::npos, "a line is one");
  CHECK_THAT(visible_line(line) == line, "what is visible on a line stays");
  const std::string json = to_text(Json(to_utf8(bytes)));
  const std::string safe = visible_json(json);
  check_shown(safe);
  CHECK_THAT(safe.find('\n') == std::string::npos, "JSON stays on its line");
  CHECK_THAT(*parse_json(safe) == *parse_json(json), "JSON keeps its value");
  return 0;
}

}  // namespace muster
