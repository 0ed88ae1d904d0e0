#include "base/terminal.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/text.h"

namespace muster {
namespace {

TEST_CASE("terminal: control characters are made visible, all else stays") {
  struct {
    std::string bytes, shown;
  } const cases[] = {
      {"", ""},
      {"plain \t text\n", "plain \t text\n"},
      {"\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80", "\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80"},
      {"\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"},
      {"\x1b[2J\x1b[1;1H", "\\x1b[2J\\x1b[1;1H"},
      {"a\bb\x7f", "a\\x08b\\x7f"},
      {std::string("\0\x0b\x0c", 3), "\\x00\\x0b\\x0c"},
      {"90%\ralgo-2 | x", "90%\\x0dalgo-2 | x"},
      {"10%\r\n", "10%\n"},
      {"a\r\r\n", "a\\x0d\n"},
      {"\x9b[31m \x90", "\\x9b[31m \\x90"},
      {"\xc2\x9b[31m\xc2\x80", "\\u009b[31m\\u0080"},
      {"\xc2\xa0", "\xc2\xa0"},
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
      {"\xe2\x80\xaa\xe2\x80\xae", "\\u202a\\u202e"},
      {"\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069"},
      {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5"},
      {"\xe2\x80", "\\xe2\\x80"},
      {"\xc0\x9b \xed\xa0\x80 \xf5", "\\xc0\\x9b \\xed\\xa0\\x80 \\xf5"},
  };
  for (const auto& one : cases) {
    CAPTURE(hex(one.bytes));
    const std::string shown = visible(one.bytes);
    CHECK(shown == one.shown);
    CHECK(visible(shown) == shown);
    CHECK(is_utf8(shown));
  }
  CHECK(visible_line("one\r\ntwo\tthree") == "one\\x0atwo\tthree");
}

TEST_CASE("terminal: JSON keeps its value") {
  const Json json = "a\x7f\x1b\xc2\x9b\xe2\x80\xae\xc3\xa9\\\n";
  const std::string shown = visible_json(to_text(json));
  CHECK(shown == "\"a\\u007f\\u001b\\u009b\\u202e\xc3\xa9\\\\\\n\"");
  CHECK(*parse_json(shown) == json);
}

}  // namespace
}  // namespace muster
