#include "job/outcome/said.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace muster::job {
namespace {

TEST_CASE("said: a text that is too long keeps its beginning and its end, in whole characters") {
  CHECK(shortened("short", 64) == "short");
  CHECK(shortened(std::string(64, 'x'), 64) == std::string(64, 'x'));
  const std::string cut = shortened("ab" + std::string(100, 'x') + "yz", 64);
  CHECK(cut.size() <= 64);
  CHECK(cut.starts_with("abxx"));
  CHECK(cut.ends_with("xxyz"));
  for (std::size_t most = 64; most < 70; ++most) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "\xe2\x82\xac";
    CHECK(is_utf8(shortened(text, most)));
    CHECK(shortened(text, most).size() <= most);
  }
}

TEST_CASE("said: an error whose message has many lines keeps its name and its frames") {
  std::vector<SaidLine> lines = {{Stream::err, "Traceback (most recent call last):"},
                                 {Stream::err, "  File \"t.py\", line 1, in <module>"},
                                 {Stream::err, "    net.load_state_dict(state)"},
                                 {Stream::err, "RuntimeError: Error(s) in loading state_dict:"}};
  for (int i = 0; i < 300; ++i)
    lines.push_back({Stream::err, "\tsize mismatch for layer" + std::to_string(i) +
                                      ".weight: copying a param with shape [3, 4]"});
  const std::string text = said_text(lines, 8192);
  CHECK(text.size() <= 8192);
  CHECK(text.starts_with("Traceback (most recent call last):\n  File \"t.py\""));
  CHECK(text.find("\nRuntimeError: Error(s) in loading state_dict:\n") != std::string::npos);
  CHECK(text.find("\n[...]\n") != std::string::npos);
  CHECK(text.find("layer299.") != std::string::npos);
}

TEST_CASE("said: whatever the lines are, the text is within its limit") {
  for (const std::size_t length : {0u, 1u, 7u, 100u, 3000u}) {
    for (const std::size_t count : {0u, 1u, 2u, 500u}) {
      std::vector<SaidLine> lines;
      for (std::size_t i = 0; i < count; ++i)
        lines.push_back({i % 3 == 0 ? Stream::out : Stream::err, std::string(length, 'x')});
      CHECK(said_text(lines, 1024).size() <= 1024);
    }
  }
}

}  // namespace
}  // namespace muster::job
