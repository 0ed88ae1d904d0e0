#include "image/kept/blobs.h"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/files/folder.h"
#include "image/manifest.h"
#include "os/packing/testing.h"

namespace muster::image {
namespace {

using packing::Scratch;

TEST_CASE("image blobs: there whole once committed, and nothing of what was not") {
  const Scratch scratch;
  Blobs blobs(scratch.path);
  const std::string digest = digest_of("some bytes");
  {
    Result<std::optional<BlobDraft>> draft = blobs.draft(digest, 10);
    REQUIRE((draft && *draft));
    REQUIRE((*draft)->append("some "));
    CHECK((*draft)->bytes() == 5);
    CHECK(!blobs.has(digest));
  }
  CHECK(names_in(scratch.path)->empty());
  REQUIRE(blobs.put(digest, "some bytes"));
  CHECK(*blobs.read(digest) == "some bytes");
  CHECK(*blobs.list() == std::vector{digest});
  const Result<std::optional<BlobDraft>> again = blobs.draft(digest, 10);
  REQUIRE(again);
  CHECK(!again->has_value());
}

TEST_CASE("image blobs: other bytes, and more bytes than announced, are refused") {
  const Scratch scratch;
  Blobs blobs(scratch.path);
  const std::string digest = digest_of("some bytes");
  const Result<void> other = blobs.put(digest, "som3 bytes");
  REQUIRE(!other);
  CHECK(other.error().code == Errc::protocol);
  CHECK(other.error().text.find("wrong digest") != std::string::npos);
  CHECK(!blobs.put(digest, "some byte"));
  {
    Result<std::optional<BlobDraft>> draft = blobs.draft(digest, 10);
    REQUIRE((draft && *draft));
    REQUIRE((*draft)->append("some bytes"));
    const Result<void> more = (*draft)->append("!");
    REQUIRE(!more);
    CHECK(more.error().text.find("more than the 10 bytes") != std::string::npos);
  }
  CHECK(names_in(scratch.path)->empty());
}

TEST_CASE(
    "image blobs: a draft starts from the beginning, also over a killed process's leftovers") {
  const Scratch scratch;
  Blobs blobs(scratch.path);
  const std::string digest = digest_of("some bytes");
  const std::string part = scratch.path + "/.part-" + digest.substr(7);
  std::ofstream(part) << "left behind, longer than the blob";
  Result<std::optional<BlobDraft>> draft = blobs.draft(digest, 10);
  REQUIRE((draft && *draft));
  REQUIRE((*draft)->append("wrong"));
  REQUIRE((*draft)->restart());
  REQUIRE((*draft)->append("some bytes"));
  REQUIRE((*draft)->commit());
  CHECK(*blobs.read(digest) == "some bytes");
  std::ofstream(part) << "left behind";
  REQUIRE(blobs.remove_rests());
  CHECK(names_in(scratch.path)->size() == 1);
}

TEST_CASE("image blobs: a blob that many request is downloaded once") {
  const Scratch scratch;
  const std::string bytes(100'000, 'x');
  const std::string digest = digest_of(bytes);
  std::atomic<int> made = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Blobs blobs(scratch.path);
      Result<std::optional<BlobDraft>> draft = blobs.draft(digest, bytes.size());
      if (!draft) ++failed;
      if (!draft || !*draft) return;
      // Some give up: another one then does it.
      if (!(*draft)->append(bytes) || (i % 2 == 0 && made == 0)) return;
      if ((*draft)->commit()) ++made;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(made == 1);
  CHECK(*Blobs(scratch.path).read(digest) == bytes);
  CHECK(names_in(scratch.path)->size() == 1);
}

TEST_CASE("image blobs: bytes that changed on the disk are not accepted") {
  const Scratch scratch;
  Blobs blobs(scratch.path);
  const std::string digest = digest_of("some bytes");
  std::ofstream(blobs.path_of(digest)) << "some other bytes";
  const Result<std::string> read = blobs.read(digest);
  REQUIRE(!read);
  CHECK(read.error().code == Errc::protocol);
}

}  // namespace
}  // namespace muster::image
