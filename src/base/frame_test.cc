#include "base/frame.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("frame: cut out of bytes that arrive one by one") {
  const std::string bytes = encode({3, "hello"}) + encode({7, ""}) + encode({9, "\n\0x"});
  FrameReader reader;
  std::string types;
  for (const char c : bytes) {
    reader.feed(std::string_view(&c, 1));
    Result<std::optional<Frame>> frame = reader.next();
    REQUIRE(frame);
    if (*frame) types += std::to_string((*frame)->type);
  }
  CHECK(types == "379");
  CHECK(!reader.unfinished());
}

TEST_CASE("frame: an unfinished one is known, a too long one refused") {
  FrameReader reader;
  reader.feed(encode({1, "abc"}).substr(0, 6));
  CHECK(!*reader.next());
  CHECK(reader.unfinished());
  FrameReader other;
  other.feed("\xff\xff\xff\xff\x01");
  REQUIRE(!other.next());
  CHECK(other.next().error().code == Errc::protocol);
}

}  // namespace
}  // namespace muster
