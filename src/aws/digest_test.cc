#include "aws/digest.h"

#include <doctest/doctest.h>

#include "base/text.h"

using namespace muster;
using namespace muster::aws;

// Source: RFC 4231 (cases 1, 2 and 6), RFC 2202 (case 2), FIPS 180-2.
TEST_CASE("digest: SHA-256 and HMAC of the standards' examples") {
  CHECK(hex(view_of(sha256("abc"))) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(view_of(hmac_sha256(std::string(20, '\x0b'), "Hi There"))) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(view_of(hmac_sha256("Jefe", "what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(view_of(hmac_sha256(std::string(131, '\xaa'),
                                "Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("digest: piece by piece is as in one, again and again") {
  Sha256 pieces;
  for (int round = 0; round < 2; ++round) {
    pieces.add("a");
    pieces.add("");
    pieces.add("bc");
    CHECK(pieces.finish() == sha256("abc"));
  }
  CHECK(pieces.finish() == sha256(""));
}

TEST_CASE("digest: same bytes") {
  CHECK(same_bytes("", ""));
  CHECK(same_bytes("abc", "abc"));
  CHECK(!same_bytes("abc", "abd"));
  CHECK(!same_bytes("abc", "abcd"));
}
