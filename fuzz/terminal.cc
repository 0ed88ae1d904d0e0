// Bytes of a job on their way to a terminal: nothing that comes out orders it about.
#include "base/terminal.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "cli/view/sgr.h"
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

/// Takes away the styles that cli::painted() may write; each line must end without one.
std::string without_styles(std::string_view text) {
  constexpr std::string_view start = "\x1b[0";
  std::string plain;
  bool has_style = false;
  while (!text.empty()) {
    if (text.starts_with(start)) {
      const std::size_t size = text.find_first_not_of("0123456789;", start.size());
      CHECK_THAT(size < text.size() && text[size] == 'm' && size < 80,
                 "a style is whole and short");
      has_style = size > start.size();
      text.remove_prefix(size + 1);
      continue;
    }
    CHECK_THAT(text[0] != '\n' || !has_style, "a style ends before its line");
    plain += text[0];
    text.remove_prefix(1);
  }
  CHECK_THAT(!has_style, "a style ends with the text");
  return plain;
}

void check_painted(std::string_view bytes) {
  cli::TextStyle style;
  const std::string plain = cli::painted(bytes, false, style);
  check_shown(plain);
  style = {};
  const std::string coloured = cli::painted(bytes, true, style);
  CHECK_THAT(without_styles(coloured) == plain, "colours change no text");
  style = {};
  CHECK_THAT(cli::painted(coloured, true, style) == coloured, "what is painted stays");
  check_shown(without_styles(cli::first_of(coloured, bytes.size() / 2)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string shown = visible(bytes);
  check_shown(shown);
  CHECK_THAT(visible(shown) == shown, "what is visible stays");
  check_painted(bytes);
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
