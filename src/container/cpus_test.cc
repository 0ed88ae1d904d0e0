#include "container/cpus.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

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

TEST_CASE("cpus: those next to a host's GPUs come first, if there are enough of them") {
  const Cpus all{0, 1, 2, 3, 4, 5, 6, 7};
  const Cpus best{4, 5, 6, 7};
  CHECK(choose_cpus(all, {}, 2, best) == Cpus{4, 5});
  CHECK(choose_cpus(all, {{4}, {6}}, 2, best) == Cpus{5, 7});
  CHECK(choose_cpus(all, {{4, 5, 6}}, 2, best) == Cpus{0, 1});
  CHECK(choose_cpus(all, {}, 6, best) == Cpus{0, 1, 2, 3, 4, 5});
  CHECK(choose_cpus({0, 1, 4}, {}, 1, best) == Cpus{4});
  CHECK(!choose_cpus(all, {{0, 1, 2, 3, 4, 5, 6}}, 2, best));
}

}  // namespace
}  // namespace muster::container
