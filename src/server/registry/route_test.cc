#include "server/registry/route.h"

#include <doctest/doctest.h>

namespace muster::registry {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');
const std::string id(32, 'f');

Result<Route, aws::Refusal> routed(const std::string& method, const std::string& target) {
  return read_route({method, target, {}});
}

TEST_CASE("registry route: the paths of a registry") {
  struct {
    std::string method, target;
    Kind kind;
    std::string repository, tag, digest, id;
  } const cases[] = {
      {"GET", "/v2/", Kind::base, "", "", "", ""},
      {"GET", "/v2", Kind::base, "", "", "", ""},
      {"GET", "/v2/_catalog?n=3", Kind::catalog, "", "", "", ""},
      {"GET", "/v2/team/box/tags/list", Kind::tags, "team/box", "", "", ""},
      {"PUT", "/v2/box/manifests/v1", Kind::manifest, "box", "v1", "", ""},
      {"HEAD", "/v2/box/manifests/" + digest, Kind::manifest, "box", "", digest, ""},
      {"GET", "/v2/a/b/c/blobs/" + digest, Kind::blob, "a/b/c", "", digest, ""},
      {"POST", "/v2/box/blobs/uploads/", Kind::uploads, "box", "", "", ""},
      {"POST", "/v2/box/blobs/uploads", Kind::uploads, "box", "", "", ""},
      {"PATCH", "/v2/box/blobs/uploads/" + id, Kind::upload, "box", "", "", id},
      // Words of the protocol may stand in names.
      {"GET", "/v2/blobs/uploads/manifests/v1", Kind::manifest, "blobs/uploads", "v1", "", ""},
      {"GET", "/v2/tags/list/tags/list", Kind::tags, "tags/list", "", "", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.target);
    const Result<Route, aws::Refusal> route = routed(c.method, c.target);
    REQUIRE(route);
    CHECK(route->kind == c.kind);
    CHECK(route->repository == c.repository);
    CHECK(route->tag == c.tag);
    CHECK(route->digest == c.digest);
    CHECK(route->id == c.id);
  }
  CHECK(is_registry_path("/v2/x"));
  CHECK(!is_registry_path("/v2x"));
  CHECK(!is_registry_path("/bucket/v2/"));
}

TEST_CASE("registry route: invalid names, digests, tags, uploads and ranges") {
  struct {
    std::string method, target, code;
    int status;
  } const cases[] = {
      {"GET", "/v2/../../etc/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/a/../b/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/..%2f..%2fetc/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/a//b/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2//manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/Box/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/a+b/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/" + std::string(300, 'a') + "/manifests/v1", "NAME_INVALID", 400},
      {"GET", "/v2/box/manifests/..", "TAG_INVALID", 400},
      {"GET", "/v2/box/manifests/", "TAG_INVALID", 400},
      {"GET", "/v2/box/manifests/" + std::string(129, 'a'), "TAG_INVALID", 400},
      {"GET", "/v2/box/manifests/sha256:abc", "DIGEST_INVALID", 400},
      {"GET", "/v2/box/manifests/sha512:" + std::string(64, 'a'), "DIGEST_INVALID", 400},
      {"GET", "/v2/box/blobs/sha256:" + std::string(64, 'A'), "DIGEST_INVALID", 400},
      {"GET", "/v2/box/blobs/../" + digest, "UNSUPPORTED", 404},
      {"GET", "/v2/box/blobs/..", "DIGEST_INVALID", 400},
      {"PATCH", "/v2/box/blobs/uploads/..", "BLOB_UPLOAD_UNKNOWN", 404},
      {"PATCH", "/v2/box/blobs/uploads/" + id + "f", "BLOB_UPLOAD_UNKNOWN", 404},
      {"GET", "/v2/box", "UNSUPPORTED", 404},
      {"GET", "/v2/box/referrers/" + digest, "UNSUPPORTED", 404},
      {"PUT", "/v2/box/blobs/" + digest, "UNSUPPORTED", 405},
      {"PUT", "/v2/", "UNSUPPORTED", 405},
      {"POST", "/v2/box/manifests/v1", "UNSUPPORTED", 405},
  };
  for (const auto& c : cases) {
    CAPTURE(c.target);
    const Result<Route, aws::Refusal> route = routed(c.method, c.target);
    REQUIRE(!route);
    CHECK(route.error().code == c.code);
    CHECK(route.error().status == c.status);
  }
}

TEST_CASE("registry route: the query of uploads, mounts and lists") {
  const Result<Route, aws::Refusal> end =
      routed("PUT", "/v2/box/blobs/uploads/" + id + "?x=1&digest=sha256%3A" + digest.substr(7));
  REQUIRE(end);
  CHECK(end->given_digest == digest);
  const Result<Route, aws::Refusal> mount =
      routed("POST", "/v2/box/blobs/uploads/?from=other/box&mount=" + digest);
  REQUIRE(mount);
  CHECK(mount->mount == digest);
  CHECK(mount->mount_from == "other/box");
  for (const char* query : {"?from=../box&mount=", "?mount="}) {
    const Result<Route, aws::Refusal> none =
        routed("POST", "/v2/box/blobs/uploads/" + (query + digest));
    REQUIRE(none);
    CHECK(none->mount.empty());
  }
  const Result<Route, aws::Refusal> list = routed("GET", "/v2/box/tags/list?n=2&last=v1");
  REQUIRE(list);
  CHECK(list->page == 2u);
  CHECK(list->last == "v1");
  CHECK(!routed("GET", "/v2/box/tags/list?n=-2")->page);
  CHECK(*routed("GET", "/v2/box/tags/list?n=99999999999")->page == 1000);
}

TEST_CASE("registry range: of an upload's chunk") {
  CHECK(read_content_range("0-99") == ByteRange{0, 99});
  CHECK(read_content_range("bytes 5-5/*") == ByteRange{5, 5});
  for (const char* text : {"", "-", "5-", "-5", "9-5", "a-b", "0-99999999999999999999", "+1-2"}) {
    CAPTURE(text);
    CHECK(!read_content_range(text));
  }
}

TEST_CASE("registry range: of a blob that is read") {
  struct {
    const char* text;
    std::uint64_t bytes;
    std::optional<ByteRange> want;
  } const cases[] = {
      {"bytes=0-9", 100, ByteRange{0, 9}},
      {"bytes=90-", 100, ByteRange{90, 99}},
      {"bytes=90-1000", 100, ByteRange{90, 99}},
      {"bytes=-10", 100, ByteRange{90, 99}},
      {"bytes=-1000", 100, ByteRange{0, 99}},
      {"bytes=100-", 100, std::nullopt},
      {"bytes=0-", 0, std::nullopt},
      {"bytes=-0", 100, std::nullopt},
      {"bytes=9-1", 100, ByteRange{0, 99}},
      {"bytes=0-1,3-4", 100, ByteRange{0, 99}},
      {"rows=0-1", 100, ByteRange{0, 99}},
      {"bytes=a-b", 100, ByteRange{0, 99}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(read_range(c.text, c.bytes) == c.want);
  }
}

TEST_CASE("registry errors are the protocol's") {
  CHECK(error_json({"NAME_INVALID", "expected \"x\""}) ==
        R"({"errors":[{"code":"NAME_INVALID","message":"expected \"x\""}]})");
}

}  // namespace
}  // namespace muster::registry
