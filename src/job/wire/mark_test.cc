#include "job/wire/mark.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("mark: a written one is read back") {
  for (int i = 0; i <= static_cast<int>(Mark::rank); ++i) {
    const Moment moment{static_cast<Mark>(i), i == 1 ? std::int64_t{1} << 40 : -1};
    CAPTURE(mark_name(moment.mark));
    CHECK(*moment_from(encode(moment)) == moment);
    CHECK(mark_named(mark_name(moment.mark)) == moment.mark);
  }
  CHECK(encode(Moment{Mark::inputs, 7}) == R"({"bytes":7,"mark":"inputs"})");
}

TEST_CASE("mark: malformed marks are refused") {
  for (const char* payload :
       {"", "[]", "{}", R"({"mark":1})", R"({"mark":"lunch"})", R"({"mark":"root","bytes":-1})",
        R"({"mark":"root","bytes":1.5})", R"({"mark":"root","bytes":18446744073709551615})"}) {
    CAPTURE(payload);
    CHECK_FALSE(moment_from(payload));
  }
}

TEST_CASE("mark: only a host reports events inside it") {
  CHECK_FALSE(is_hosts_own(Mark::root));
  CHECK_FALSE(is_hosts_own(Mark::inputs));
  CHECK(is_hosts_own(Mark::begun));
  CHECK(is_hosts_own(Mark::rank));
}

}  // namespace
}  // namespace muster::job
