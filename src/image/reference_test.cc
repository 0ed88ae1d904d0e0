#include "image/reference.h"

#include <doctest/doctest.h>

namespace muster::image {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');

TEST_CASE("image reference: short names are made whole as Docker does") {
  struct {
    const char* text;
    const char* whole;
  } const cases[] = {
      {"busybox", "docker.io/library/busybox:latest"},
      {"busybox:1.36", "docker.io/library/busybox:1.36"},
      {"team/train", "docker.io/team/train:latest"},
      {"index.docker.io/busybox", "docker.io/library/busybox:latest"},
      {"localhost/a", "localhost/a:latest"},
      {"localhost:5000/a/b:v1", "localhost:5000/a/b:v1"},
      {"[::1]:5000/a", "[::1]:5000/a:latest"},
      {"HOST/a", "HOST/a:latest"},
      {"docker://quay.io/a/b", "quay.io/a/b:latest"},
      {"123456789012.dkr.ecr.eu-west-1.amazonaws.com/my-container",
       "123456789012.dkr.ecr.eu-west-1.amazonaws.com/my-container:latest"},
      {"a__b-c--d.e_f", "docker.io/library/a__b-c--d.e_f:latest"},
      {"docker-archive:/tmp/i.tar", "docker-archive:/tmp/i.tar"},
      {"docker-archive:i.tar:box:1", "docker-archive:i.tar:docker.io/library/box:1"},
      {"oci:/tmp/layout", "oci:/tmp/layout"},
      {"oci:layout:v1.0_x", "oci:layout:v1.0_x"},
      {"docker-daemon:box", "docker-daemon:docker.io/library/box:latest"},
      {"docker-daemon:5000/box:1", "docker-daemon:docker.io/5000/box:1"},
      {"docker://docker-daemon:5000/box:1", "docker://docker-daemon:5000/box:1"},
      {"docker://oci:5000/box:1", "docker://oci:5000/box:1"},
      {"containers-storage:localhost/box:1", "containers-storage:localhost/box:1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Reference> reference = reference_from(c.text);
    REQUIRE(reference);
    CHECK(to_text(*reference) == c.whole);
    CHECK(*reference_from(c.whole) == *reference);
  }
}

TEST_CASE("image reference: with a digest the tag says nothing") {
  const Result<Reference> reference = reference_from("quay.io/a/b:v1@" + digest);
  REQUIRE(reference);
  CHECK(reference->tag.empty());
  CHECK(reference->digest == digest);
  CHECK(to_text(*reference) == "quay.io/a/b@" + digest);
}

TEST_CASE("image reference: the error for an invalid one says what was expected") {
  struct {
    std::string text;
    const char* want;
  } const cases[] = {
      {"", "lower-case letters"},
      {"Busybox", "lower-case letters"},
      {"a//b", "lower-case letters"},
      {"a/../b", "lower-case letters"},
      {"a_", "lower-case letters"},
      {"a___b", "lower-case letters"},
      {"quay.io/", "lower-case letters"},
      {std::string(256, 'a'), "lower-case letters"},
      {"busybox:", "as the tag"},
      {"busybox:-x", "as the tag"},
      {"busybox:a/b", "HOST[:PORT]"},
      {"busybox@md5:1", "64 hex digits"},
      {"busybox@sha256:" + std::string(64, 'A'), "64 hex digits"},
      {"a b.c/d", "HOST[:PORT]"},
      {"host:x/d", "HOST[:PORT]"},
      {"host:123456/d", "HOST[:PORT]"},
      {"[::1/d", "HOST[:PORT]"},
      {"[::1]x:1/d", "HOST[:PORT]"},
      {"-h.x/d", "HOST[:PORT]"},
      {"oci:", "a path"},
      {"docker-archive::x", "a path"},
      {"oci:x:a:b", "oci:FOLDER[:TAG]"},
      {"docker-archive:x:box@" + digest, "by digest"},
      {"docker-daemon:box@" + digest, "by digest"},
      {"docker-daemon:", "lower-case letters"},
      {"docker-daemon:--help", "lower-case letters"},
      {"containers-storage:[overlay@/etc]box", "64 hex digits"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<Reference> reference = reference_from(c.text);
    REQUIRE(!reference);
    CHECK(reference.error().code == Errc::invalid_input);
    CHECK(reference.error().text.find(c.want) != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::image
