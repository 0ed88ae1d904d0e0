#include "command/man.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace muster::command {
namespace {

TEST_CASE("man: text is printed unchanged, even if it looks like roff") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {
      {"", ""},
      {"plain", "plain"},
      {".TH is no macro", "\\&.TH is no macro"},
      {"'s is no macro", "\\&\\(aqs is no macro"},
      {"a.b it's", "a.b it\\(aqs"},
      {"one\n.two\n'three", "one\n\\&.two\n\\&\\(aqthree"},
      {"--hosts -1", "\\-\\-hosts \\-1"},
      {"a\\b \\fB", "a\\eb \\efB"},
      {"\"x\" `y` ~ ^", "\\(dqx\\(dq \\(gay\\(ga \\(ti \\(ha"},
      {"s3://\xe2\x80\xa6/x", "s3://\\[u2026]/x"},
      {"\xc3\xa9\xf0\x9f\x98\x80", "\\[u00E9]\\[u1F600]"},
  };
  for (const auto& one : cases) CHECK(escaped(one.text) == std::string(one.want));
}

TEST_CASE("man: every command's page has its sections, flags and exit codes") {
  for (const Page* page : typed_pages(false)) {
    CAPTURE(std::string(page->name));
    const std::string text = man_page(*page);
    std::size_t at = 0;
    for (const char* title :
         {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}) {
      CAPTURE(std::string(title));
      const std::size_t found = text.find(".SH " + std::string(title) + "\n", at);
      REQUIRE(found != std::string::npos);
      at = found;
    }
    for (const Flag& flag : page->flags) CHECK(text.find(escaped(flag.name)) != std::string::npos);
    for (const Exit& exit : page->exits)
      CHECK(text.find(".B \"" + escaped(exit.code) + "\"\n") != std::string::npos);
    for (const std::string& line : split(text, '\n'))
      CHECK((!line.starts_with(".") || line.size() > 2));
  }
}

TEST_CASE("man: the page of sm names every command") {
  const std::string text = man_overview();
  for (const Page* page : typed_pages(true))
    CHECK(text.find(".B \"" + escaped(page->name) + "\"\n") != std::string::npos);
  CHECK(text.find("steward") == std::string::npos);
  CHECK(man_name("") == "sm");
  CHECK(man_name("key create") == "sm-key-create");
}

}  // namespace
}  // namespace muster::command
