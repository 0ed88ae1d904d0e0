#include "base/process/cpus.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("cpus: lists as the kernel writes them") {
  CHECK(*cpus_from("0-2,5") == Cpus{0, 1, 2, 5});
  CHECK(*cpus_from("7") == Cpus{7});
  CHECK(cpus_from("")->empty());
  CHECK(cpu_list({0, 1, 5}) == "0-1,5");
  CHECK(cpu_list({3, 5, 6, 7}) == "3,5-7");
  CHECK(cpu_list({}) == "");
  for (const char* text : {"x", "1-", "-1", "3-1", "0-99999", "1,,2", "1-2-3", "4,1", "0-2,2"}) {
    CAPTURE(text);
    CHECK(!cpus_from(text));
  }
  CHECK(common_cpus({0, 1, 4}, {1, 2, 4, 8}) == Cpus{1, 4});
}

}  // namespace
}  // namespace muster
