#include "server/registry/uploads.h"

#include <doctest/doctest.h>

#include "base/files/folder.h"
#include "image/kept/testing.h"

namespace muster::registry {
namespace {

using std::chrono::hours;

struct Place {
  image::BlobDraft draft() {
    Result<image::BlobDraft> made = store.upload(100);
    REQUIRE(made);
    return *std::move(made);
  }
  /// The id of one that is begun and free.
  std::string begun(const std::string& key) {
    const Result<Uploads::Taken, aws::Refusal> upload = uploads.begin("box", key, draft());
    REQUIRE(upload);
    return (*upload)->id;
  }
  std::size_t files() const { return names_in(scratch.path + "/images/blobs/sha256")->size(); }

  packing::Scratch scratch;
  image::Store store = *image::Store::open(scratch.path + "/images");
  Uploads uploads{{.of_key_max = 2, .all_max = 3, .idle_max = hours(1)}};
};

std::string code_of(const Result<Uploads::Taken, aws::Refusal>& taken) {
  return taken ? "" : taken.error().code;
}

TEST_CASE("registry uploads: only the key that began one can continue it, one request at a time") {
  Place place;
  const std::string id = place.begun("ann");
  CHECK(code_of(place.uploads.take(id, "box", "bob")) == "BLOB_UPLOAD_UNKNOWN");
  CHECK(code_of(place.uploads.take(id, "other", "ann")) == "BLOB_UPLOAD_UNKNOWN");
  CHECK(code_of(place.uploads.take(std::string(32, '0'), "box", "ann")) == "BLOB_UPLOAD_UNKNOWN");
  {
    Result<Uploads::Taken, aws::Refusal> taken = place.uploads.take(id, "box", "ann");
    REQUIRE(taken);
    REQUIRE((*taken)->draft.append("some"));
    CHECK(code_of(place.uploads.take(id, "box", "ann")) == "TOOMANYREQUESTS");
    place.uploads.forget_idle(Clock::now() + hours(2));  // Not while a request is at it.
  }
  Result<Uploads::Taken, aws::Refusal> again = place.uploads.take(id, "box", "ann");
  REQUIRE(again);
  CHECK((*again)->draft.bytes() == 4);
  again->end();
  CHECK(code_of(place.uploads.take(id, "box", "ann")) == "BLOB_UPLOAD_UNKNOWN");
}

TEST_CASE(
    "registry uploads: limits per key and in total, and an idle one is removed with its file") {
  Place place;
  const std::string first = place.begun("ann");
  place.begun("ann");
  CHECK(code_of(place.uploads.begin("box", "ann", place.draft())) == "TOOMANYREQUESTS");
  place.begun("bob");
  CHECK(code_of(place.uploads.begin("box", "cid", place.draft())) == "TOOMANYREQUESTS");
  CHECK(place.files() == 3);
  place.uploads.forget_idle(Clock::now());
  CHECK(place.uploads.size() == 3);
  place.uploads.forget_idle(Clock::now() + hours(1));
  CHECK(place.uploads.size() == 0);
  CHECK(place.files() == 0);
  CHECK(code_of(place.uploads.take(first, "box", "ann")) == "BLOB_UPLOAD_UNKNOWN");
}

}  // namespace
}  // namespace muster::registry
