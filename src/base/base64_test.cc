#include "base/base64.h"

#include <doctest/doctest.h>

namespace muster {

TEST_CASE("base64 pads to four") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("\xff\xfe\xfd\xfc") == "//79/A==");
}

TEST_CASE("base64 is decoded, and nothing else is accepted") {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd"})
    CHECK(from_base64(base64(text)) == text);
  for (const char* bad : {"A", "AA", "AAA", "AAA=A", "=AAA", "AB==", "AAB=", "AA=A", "A A=", "AAA-",
                          "====", "AA==AAAA"}) {
    CAPTURE(bad);
    CHECK(!from_base64(bad));
  }
}

}  // namespace muster
