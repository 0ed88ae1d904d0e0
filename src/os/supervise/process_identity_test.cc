#include "os/supervise/process_identity.h"

#include <doctest/doctest.h>

#include <string>

namespace muster::supervise {
namespace {

TEST_CASE("process identity: ranks by the variables of launchers") {
  using namespace std::string_literals;
  CHECK(rank_in("A=1\0OMPI_COMM_WORLD_RANK=3\0"s) == 3);
  CHECK(rank_in("PMI_RANK=5\0RANK=9\0"s) == 5);
  CHECK(rank_in("RANK=2\0"s) == 2);
  CHECK(rank_in("XRANK=2\0RANK=\0PMIX_RANK=-1\0"s) == -1);
  CHECK(rank_in("") == -1);
}

TEST_CASE("process identity: the number in its own namespace, and its user") {
  const std::string status =
      "Pid:\t4711\nUid:\t1000\t1001\t1002\t1003\n"
      "NSpid:\t4711\t31\t12\n";
  CHECK(inner_number(status, 4711) == 12);
  CHECK(inner_number("Name:\tx\n", 4711) == 4711);
  CHECK(user_in(status) == 1001);
  CHECK(user_in("Uid:\t1000\n") == -1);
}

}  // namespace
}  // namespace muster::supervise
