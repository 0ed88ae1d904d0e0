#include "job/outcome/rank_tag.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("rank tag: a line's tag names its rank and stream") {
  const std::optional<RankTag> out = rank_tag_in("[1,mpirank:3,algo-2]<stdout>:x");
  REQUIRE(out);
  CHECK((out->rank == 3 && out->stream == Stream::out && out->bytes == 29));
  CHECK(out->host == "algo-2");
  CHECK(rank_tag(3, "algo-2", Stream::out) == "[1,mpirank:3,algo-2]<stdout>:");
  CHECK(rank_tag(0, "algo-1", Stream::err) == "[1,mpirank:0,algo-1]<stderr>:");
  CHECK(rank_tag(-1, "algo-1", Stream::err).empty());
  const std::optional<RankTag> err = rank_tag_in("[1,mpirank:0,algo-1]<stderr>:");
  REQUIRE(err);
  CHECK((err->rank == 0 && err->stream == Stream::err && err->bytes == 29));
  for (const char* line :
       {"x [1,mpirank:3,algo-2]<stdout>:", "[1,mpirank:-1,algo-2]<stdout>:x",
        "[1,mpirank:,algo-2]<stdout>:x", "[1,mpirank:99999999999,a]<stdout>:", "[1,mpirank:3",
        "[1,mpirank:3]<stdout>:a,b", "[1,mpirank:3,a]<stdlog>:", "[1,mpirank:3,a]", ""}) {
    CAPTURE(line);
    CHECK(!rank_tag_in(line));
  }
  CHECK(!rank_tag_in("[1,mpirank:3," + std::string(500, 'a') + "]<stdout>:"));
}

}  // namespace
}  // namespace muster::job
