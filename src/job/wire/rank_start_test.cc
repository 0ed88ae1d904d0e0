#include "job/wire/rank_start.h"

#include <doctest/doctest.h>

using namespace muster;
using job::rank_start_from;
using job::RankStart;

TEST_CASE("rank start: what is written is read, and nothing else") {
  const RankStart start{7, 4711};
  REQUIRE(rank_start_from(job::encode(start)).has_value());
  CHECK(*rank_start_from(job::encode(start)) == start);
  for (const char* text :
       {"", "[]", "{}", R"({"rank":1})", R"({"rank":"1","pid":2})", R"({"rank":-1,"pid":2})",
        R"({"rank":256000,"pid":2})", R"({"rank":1,"pid":0})", R"({"rank":1,"pid":1e9})",
        R"({"rank":1,"pid":99999999999999999999})"}) {
    CAPTURE(text);
    CHECK_FALSE(rank_start_from(text).has_value());
  }
}
