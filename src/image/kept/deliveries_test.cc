#include "image/kept/deliveries.h"

#include <doctest/doctest.h>

#include "base/files/folder.h"
#include "image/manifest.h"
#include "os/packing/testing.h"

namespace muster::image {
namespace {

TEST_CASE("image deliveries: one source's delivery is not another's, and can be forgotten") {
  const packing::Scratch scratch;
  Deliveries deliveries(scratch.path);
  const std::string layer = digest_of("layer");
  const std::string image = digest_of("image");
  const Source ann = Source::pulled("reg.lab", "box", "ann");
  const Source bob = Source::pulled("reg.lab", "box", "bob");
  CHECK(!deliveries.has_any(layer));
  REQUIRE(deliveries.note(layer, ann));
  REQUIRE(deliveries.note(layer, ann));
  REQUIRE(deliveries.note(image, bob));
  CHECK(deliveries.has(layer, ann));
  CHECK(!deliveries.has(layer, bob));
  CHECK(!deliveries.has(image, ann));
  CHECK(deliveries.has_any(layer));
  CHECK(Deliveries(scratch.path).has(image, bob));
  REQUIRE(deliveries.keep_only({image.substr(7)}));
  CHECK(!deliveries.has(layer, ann));
  CHECK(!deliveries.has_any(layer));
  CHECK(deliveries.has(image, bob));
}

}  // namespace
}  // namespace muster::image
