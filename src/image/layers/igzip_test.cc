#include "image/layers/igzip.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "os/packing/testing.h"

namespace muster::image {
namespace {

using packing::Scratch;

/// A text that does not shrink much, of more than a piece when packed.
std::string text() {
  std::string made;
  for (unsigned i = 0; i < 200'000; ++i) made += std::to_string(i * 2654435761u);
  return made;
}

std::string all_of(Bytes& bytes) {
  std::string all;
  while (true) {
    const Result<std::string_view> piece = bytes.next();
    if (!piece) return "error: " + piece.error().text;
    if (piece->empty()) return all;
    all += *piece;
  }
}

std::unique_ptr<Bytes> file_of(const Scratch& scratch, const std::string& packed) {
  const std::string path = scratch.path + "/packed";
  packing::put_file(path, packed);
  return bytes_of(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

TEST_SUITE_BEGIN("igzip" * doctest::skip(!has_igzip()));

TEST_CASE("igzip: returns what zlib returns, for any number of members and any trailing bytes") {
  const std::string plain = text();
  const std::string one = packing::gzipped(plain);
  REQUIRE(one.size() > (300u << 10));
  const std::string zeros(100, '\0');
  const std::pair<std::string, std::string> cases[] = {
      {one, plain}, {one + packing::gzipped("x"), plain + "x"}, {one + zeros, plain}};
  for (const auto& [packed, want] : cases)
    for (const Gunzip by : {Gunzip::zlib, Gunzip::igzip}) {
      const Scratch scratch;
      CHECK(all_of(*unpacked(file_of(scratch, packed), by)) == want);
    }
}

TEST_CASE("igzip: truncated or damaged data ends early or differs, and is not an error") {
  const std::string plain = text();
  const std::string packed = packing::gzipped(plain);
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  for (const std::string& wrong : {packed.substr(0, packed.size() / 2), damaged}) {
    const Scratch scratch;
    const std::string got = all_of(*by_igzip(file_of(scratch, wrong)));
    CHECK(got != plain);
    CHECK(!got.starts_with("error"));
  }
}

TEST_CASE("igzip: packed bytes are read to their end, and a read error is reported") {
  const Scratch scratch;
  const std::string packed = packing::gzipped(text());
  const std::string wrong = "sha256:" + std::string(64, '0');
  // Behind its first bytes nothing is gzip: the process ends long before they do.
  const std::string odd = packed.substr(0, 100) + std::string(4u << 20, 'x');
  for (const std::string& bytes : {packed, odd}) {
    const std::string got = all_of(*by_igzip(checked(file_of(scratch, bytes), wrong)));
    CHECK(got.starts_with("error: does not match its digest " + wrong));
  }
}

TEST_CASE("igzip: a reader that stops takes the process with it") {
  const Scratch scratch;
  const std::unique_ptr<Bytes> bytes =
      read_ahead(by_igzip(file_of(scratch, packing::gzipped(text()))));
  REQUIRE(bytes->next());
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
