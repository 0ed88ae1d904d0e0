#include "container/cpus.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

TEST_CASE("cpus: lists as the kernel writes them") {
  CHECK(*cpus_from("0-2,5") == Cpus{0, 1, 2, 5});
  CHECK(*cpus_from("7") == Cpus{7});
  CHECK(cpus_from("")->empty());
  CHECK(cpu_list({0, 1, 5}) == "0,1,5");
  CHECK(cpu_list({}) == "");
  for (const char* text : {"x", "1-", "-1", "3-1", "0-99999", "1,,2", "1-2-3"}) {
    CAPTURE(text);
    CHECK(!cpus_from(text));
  }
}

TEST_CASE("cpus: hosts get processors that no other host has, or no set at all") {
  const Cpus all{0, 1, 2, 3};
  CHECK(choose_cpus(all, {}, 2) == Cpus{0, 1});
  CHECK(choose_cpus(all, {{0, 1}}, 2) == Cpus{2, 3});
  CHECK(choose_cpus(all, {{0}, {2}}, 2) == Cpus{1, 3});
  CHECK(!choose_cpus(all, {{0}, {2, 3}}, 2));
  CHECK(!choose_cpus(all, {}, 4));
  CHECK(!choose_cpus(all, {}, 9));
  CHECK(!choose_cpus({}, {}, 1));
}

}  // namespace
}  // namespace muster::container
