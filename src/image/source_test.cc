#include "image/source.h"

#include <doctest/doctest.h>

#include <set>

namespace muster::image {
namespace {

TEST_CASE(
    "image source: the same registry, repository and login are one source, and nothing else") {
  CHECK(Source::pulled("reg.lab", "team/box", "ann") ==
        Source::pulled("reg.lab", "team/box", "ann"));
  CHECK(Source::pushed("team/box") == Source::pushed("team/box"));
  const Source all[] = {
      Source::pulled("reg.lab", "team/box", "ann"),
      Source::pulled("reg.lab", "team/box", ""),
      Source::pulled("reg.lab", "team/box", "bob"),
      Source::pulled("reg.lab", "team/other", "ann"),
      Source::pulled("reg.la", "bteam/box", "ann"),
      Source::pulled("reg.lab", "team/boxann", ""),
      Source::pulled("reg.lab", "team/box3:", "ann"),
      Source::pulled("reg.lab", "", "team/boxann"),
      Source::pushed("team/box"),
      Source::imported("team/box"),
      Source::imported("/team/box"),
      Source::handed_over(),
  };
  std::set<std::string> ids;
  for (const Source& each : all) {
    CHECK(each.id().size() == 64);
    CHECK(each.id().find_first_not_of("0123456789abcdef") == std::string::npos);
    ids.insert(each.id());
  }
  CHECK(ids.size() == std::size(all));
}

}  // namespace
}  // namespace muster::image
