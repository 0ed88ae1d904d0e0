#include "os/devices/kernel_log.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/remove_tree.h"

namespace muster::devices {
namespace {

TEST_CASE("card faults: the journal is read by those who may read the system's file") {
  const Result<std::string> top = make_private_folder("/tmp", "muster-journal-");
  REQUIRE(top);
  CHECK_FALSE(may_read_journal({*top, *top + "/missing"}));
  REQUIRE(make_folders(*top + "/0a1b", 0700));
  CHECK_FALSE(may_read_journal({*top}));
  REQUIRE(write_file(*top + "/0a1b/system.journal", "", 0600));
  CHECK(may_read_journal({*top + "/missing", *top}));
  REQUIRE(remove_tree(*top));
}

}  // namespace
}  // namespace muster::devices
