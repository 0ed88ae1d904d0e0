#include "os/supervise/process_identity.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

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

TEST_CASE("process identity: a process's name cannot say who it is") {
  std::array<char, 16> before{};
  REQUIRE(::prctl(PR_GET_NAME, before.data()) == 0);
  for (const char* name : {"x\nUid:\t7\t7\t7", "\nNSpid:\t4242"}) {
    CAPTURE(name);
    REQUIRE(::prctl(PR_SET_NAME, name) == 0);
    const Result<std::string> status = read_file("/proc/thread-self/status", 1u << 16);
    REQUIRE(status);
    CHECK(user_in(*status) == static_cast<std::int64_t>(::geteuid()));
    CHECK(inner_number(*status, -1) != 4242);
  }
  CHECK(::prctl(PR_SET_NAME, before.data()) == 0);
}

TEST_CASE("process identity: a process's environment names a rank that exists, or none") {
  for (const char* number : {"1000001", "-1", "99999999999999999999", "1e3", "0x1", " 1", "1 "}) {
    CAPTURE(number);
    CHECK(rank_in(std::string("RANK=") + number + '\0') == -1);
  }
  CHECK(rank_in(std::string("RANK=1000000") + '\0') == 1'000'000);
}

}  // namespace
}  // namespace muster::supervise
