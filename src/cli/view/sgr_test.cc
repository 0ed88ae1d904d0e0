#include "cli/view/sgr.h"

#include <doctest/doctest.h>

#include <string>

#include "base/terminal.h"

namespace muster::cli {
namespace {

std::string coloured(std::string_view bytes) {
  TextStyle style;
  return painted(bytes, true, style);
}

std::string removed(std::string_view bytes) {
  TextStyle style;
  return painted(bytes, false, style);
}

TEST_CASE("sgr: colours and styles are rewritten, and end before other text") {
  struct {
    std::string bytes, shown, without;
  } const cases[] = {
      {"\x1b[31mred\x1b[0m plain", "\x1b[0;31mred\x1b[0m plain", "red plain"},
      {"\x1b[31mred\x1b[m plain", "\x1b[0;31mred\x1b[0m plain", "red plain"},
      {"\x1b[31mred", "\x1b[0;31mred\x1b[0m", "red"},
      {"\x1b[1;4;92mx\x1b[22my\x1b[24;39mz", "\x1b[0;1;4;92mx\x1b[0;4;92my\x1b[0mz", "xyz"},
      {"\x1b[1;2;3;5;7;21mx\x1b[22my\x1b[23;25mz\x1b[24;27m.",
       "\x1b[0;1;2;3;21;5;7mx\x1b[0;3;21;5;7my\x1b[0;21;7mz\x1b[0m.", "xyz."},
      {"\x1b[33;44mx\x1b[49my", "\x1b[0;33;44mx\x1b[0;33my\x1b[0m", "xy"},
      {"\x1b[90;107mx", "\x1b[0;90;107mx\x1b[0m", "x"},
      {"\x1b[38;5;208mx\x1b[48;5;0my", "\x1b[0;38;5;208mx\x1b[0;38;5;208;48;5;0my\x1b[0m", "xy"},
      {"\x1b[48;2;0;128;255;1mx", "\x1b[0;1;48;2;0;128;255mx\x1b[0m", "x"},
      {"\x1b[0031mx", "\x1b[0;31mx\x1b[0m", "x"},
      {"\x1b[31m\x1b[32mx\x1b[32my", "\x1b[0;32mxy\x1b[0m", "xy"},
      {"\x1b[31m\x1b[0m", "", ""},
      {"\x1b[31mone\ntwo\r\n", "\x1b[0;31mone\x1b[0m\ntwo\n", "one\ntwo\n"},
      {"\x1b[41m\xe6\xbc\xa2\r\n", "\x1b[0;41m\xe6\xbc\xa2\x1b[0m\n", "\xe6\xbc\xa2\n"},
  };
  for (const auto& each : cases) {
    CAPTURE(visible(each.bytes));
    CHECK(coloured(each.bytes) == each.shown);
    CHECK(removed(each.bytes) == each.without);
    CHECK(coloured(each.shown) == each.shown);
  }
}

TEST_CASE("sgr: other parameters have no effect") {
  for (const char* parameters : {"8",
                                 "6",
                                 "9",
                                 "10",
                                 "20",
                                 "26",
                                 "28",
                                 "29",
                                 "38",
                                 "48",
                                 "50",
                                 "51",
                                 "89",
                                 "108",
                                 "1000",
                                 "38;5",
                                 "38;5;256",
                                 "38;2;1;2",
                                 "38;2;1;2;256",
                                 "38;7;1",
                                 "38;;1",
                                 "38;5;256;1",
                                 "99999999999999999999",
                                 "4294967327",
                                 ";;8;"}) {
    CAPTURE(parameters);
    CHECK(coloured(std::string("\x1b[") + parameters + "mx") == "x");
  }
}

TEST_CASE("sgr: every other sequence is text") {
  const std::string long_one = "\x1b[" + std::string(65, '1') + "m";
  for (const std::string& bytes :
       {std::string("\x1b[2J"), std::string("\x1b[31"), std::string("\x1b["), std::string("\x1b"),
        std::string("\x1b[31:1m"), std::string("\x1b[>4m"), std::string("\x1b[?1m"),
        std::string("\x1b[1 m"), std::string("\x1b]0;title\x07"), std::string("\x9b\x33mx"),
        std::string("\xc2\x9b\x33mx"), std::string("\x1b\x1b[2J"), std::string("a\rb\x7f\t"),
        long_one}) {
    CAPTURE(visible(bytes));
    CHECK(coloured(bytes) == visible(bytes));
    CHECK(removed(bytes) == visible(bytes));
  }
  CHECK(removed("\x1b\x1b[m[2J") == "\\x1b[2J");  // What is removed joins nothing.
  CHECK(removed("\xc2\x1b[m\x9b") == "\\xc2\\x9b");
}

TEST_CASE("sgr: a line in pieces keeps its style, which ends with the line") {
  TextStyle style;
  CHECK(painted("\x1b[32mload", true, style) == "\x1b[0;32mload\x1b[0m");
  CHECK(painted("ing", true, style) == "\x1b[0;32ming\x1b[0m");
  CHECK(painted(" done\nnext", true, style) == "\x1b[0;32m done\x1b[0m\nnext");
}

TEST_CASE("sgr: a text that is cut ends plain") {
  const std::string text = coloured("\xc3\xa4\x1b[31mbc\x1b[0md");
  CHECK(first_of(text, 4) == text);
  CHECK(first_of(text, 9) == text);
  CHECK(first_of(text, 2) == "\xc3\xa4\x1b[0;31mb\x1b[0m");
  CHECK(first_of("plain", 3) == "pla");
  CHECK(first_of("", 3) == "");
}

}  // namespace
}  // namespace muster::cli
