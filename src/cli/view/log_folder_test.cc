#include "cli/view/log_folder.h"

#include <doctest/doctest.h>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::cli {
namespace {

TEST_CASE("log folder: one file has all lines, and each host's lines have a separate one, too") {
  const Result<std::string> folder = make_private_folder("/tmp", "muster-log-folder-");
  REQUIRE(folder);
  {
    LogFolder files(*folder, {.colour = true, .hosts = 2, .ranks = 2});
    files.status({"Training", "Training in progress", UnixMillis(0)});
    files.lines("algo-1", UnixMillis(1), {.rank = 0, .bytes = "a\x1b[1m\n"});
    REQUIRE(files.flush());
    job::Lines piece{.rank = 1, .stream = job::Stream::err, .bytes = "b"};
    piece.part = true;
    files.lines("algo-2", UnixMillis(2), piece);
    files.log("algo-1", UnixMillis(3), {"warning", "slow"});
    files.finish();
    REQUIRE(files.flush());
  }
  CHECK(read_file(*folder + "/all.log").value_or("") ==
        "1970-01-01 00:00:00 UTC Training - Training in progress\n"
        "algo-1 rank 0 | a\x1b[1m\nalgo-1 muster: warning: slow\nalgo-2 rank 1 ! b\n");
  CHECK(read_file(*folder + "/algo-1.log").value_or("") ==
        "algo-1 rank 0 | a\x1b[1m\nalgo-1 muster: warning: slow\n");
  CHECK(read_file(*folder + "/algo-2.log").value_or("") == "algo-2 rank 1 ! b\n");
  LogFolder again(*folder, {});
  const Result<void> taken = again.flush();
  REQUIRE(!taken);
  CHECK(taken.error().text.find("all.log") != std::string::npos);
  REQUIRE(remove_tree(*folder));
}

}  // namespace
}  // namespace muster::cli
