#include "base/files/swept.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

TEST_CASE("swept: lines for people, its JSON is parsed back, and invalid JSON is refused") {
  const Swept swept{{"container a-algo-1", "record b"}, {"/x: Device or resource busy"}};
  CHECK(lines_of(swept) ==
        "removed container a-algo-1\nremoved record b\ncould not remove /x: Device or resource "
        "busy\n");
  const Result<Swept> read = swept_from(*parse_json(to_text(to_json(swept))));
  REQUIRE(read);
  CHECK(read->removed == swept.removed);
  CHECK(read->failed == swept.failed);
  for (const char* text : {"{}", "[]", R"({"removed": 1, "failed": []})"}) {
    CAPTURE(text);
    CHECK(swept_from(*parse_json(text)).error().code == Errc::protocol);
  }
}

}  // namespace
}  // namespace muster
