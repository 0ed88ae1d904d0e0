#include "aws/s3wire/checksum.h"

#include <doctest/doctest.h>

#include "base/base64.h"
#include "base/text.h"

using namespace muster;
using namespace muster::s3wire;

TEST_CASE("checksum: digests of the usual nine digits are the published ones") {
  struct {
    Checksum kind;
    const char* want;
  } const cases[] = {
      {Checksum::crc32, "cbf43926"},
      {Checksum::crc32c, "e3069283"},
      {Checksum::crc64nvme, "ae8b14860a799888"},
      {Checksum::sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"},
      {Checksum::sha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
      {Checksum::md5, "25f9e794323b453885f5181f1b624d0b"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    Digest digest(c.kind);
    digest.add("123456789");
    CHECK(hex(digest.finish()) == c.want);
  }
}

TEST_CASE("checksum: pieces of any length give what the whole gives") {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7 + i / 13);
  for (const Checksum kind : {Checksum::crc32, Checksum::crc32c, Checksum::crc64nvme}) {
    Digest whole(kind);
    whole.add(bytes);
    const std::string want = whole.finish();
    for (const std::size_t size : {1u, 3u, 8u, 9u, 64u, 333u}) {
      Digest pieces(kind);
      for (std::size_t at = 0; at < bytes.size(); at += size)
        pieces.add(std::string_view(bytes).substr(at, size));
      CHECK(pieces.finish() == want);
    }
  }
}

TEST_CASE("checksum: CRCs of two runs make that of both") {
  const auto digest_of = [](Checksum kind, std::string_view bytes) {
    Digest digest(kind);
    digest.add(bytes);
    return digest.finish();
  };
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  for (const Checksum kind : {Checksum::crc32, Checksum::crc32c, Checksum::crc64nvme})
    for (const std::size_t cut : {0u, 1u, 7u, 8u, 1000u, 2999u, 3000u}) {
      CAPTURE(cut);
      const std::string_view all = bytes;
      CHECK(combined(kind, digest_of(kind, all.substr(0, cut)), digest_of(kind, all.substr(cut)),
                     all.size() - cut) == digest_of(kind, all));
    }
}

TEST_CASE("checksum: of parts") {
  Digest first(Checksum::crc32);
  first.add("hello");
  CHECK(composite(Checksum::crc32, {first.finish()}).ends_with("==-1"));
  CHECK(composite(Checksum::sha256, {std::string(32, 'a'), std::string(32, 'b')}).ends_with("=-2"));
}
