#include "server/jobs/reserve.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace muster::jobs {
namespace {

TEST_CASE("reserve: space is allocated, released once, and allocated again") {
  const std::string folder = *make_private_folder("/tmp", "muster-reserve-");
  const Reserve reserve(folder + "/reserve");
  CHECK(!reserve.give());
  for (int i = 0; i < 2; ++i) {
    reserve.take();
    reserve.take();
    struct stat status {};
    REQUIRE(::stat((folder + "/reserve").c_str(), &status) == 0);
    CHECK(status.st_blocks * 512 >= 1 << 20);
    CHECK(reserve.give());
    CHECK(!reserve.give());
  }
  ::rmdir(folder.c_str());
  reserve.take();  // Nowhere: no harm.
  CHECK(!reserve.give());
}

}  // namespace
}  // namespace muster::jobs
