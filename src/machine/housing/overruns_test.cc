#include "machine/housing/overruns.h"

#include <doctest/doctest.h>
#include <fcntl.h>

namespace muster::steward {
namespace {

TEST_CASE("overruns: a place is full to a hundredth, or to a tenth when a program says so") {
  struct Case {
    const char* what;
    Space space;
    bool told;
    Full want;
  };
  const Case cases[] = {
      {"half", {1000, 500, 100, 50}, true, Full::no},
      {"nearly, nobody complains", {1000, 50, 100, 50}, false, Full::no},
      {"nearly, and a large block did not fit", {1000, 50, 100, 50}, true, Full::bytes},
      {"all but a hundredth", {1000, 10, 100, 50}, false, Full::bytes},
      {"all", {1000, 0, 100, 50}, false, Full::bytes},
      {"no files left", {1000, 500, 100, 0}, true, Full::files},
      {"few files left", {1000, 500, 100, 5}, true, Full::no},
      {"a file system that counts no files", {1000, 500, 0, 0}, true, Full::no},
      {"one that counts nothing", {0, 0, 0, 0}, true, Full::no},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(fullness(c.space, c.told) == c.want);
  }
}

TEST_CASE("overruns: programs' messages about missing space") {
  for (const char* text :
       {"OSError: [Errno 28] No space left on device: '/opt/ml/model/m'",
        "cp: error writing 'x': No space left on device",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.",
        "rank 0 on algo-1: killed by SIGBUS"}) {
    CAPTURE(text);
    CHECK(tells_of_no_room(text));
  }
  for (const char* text : {"", "epoch 1: loss 0.3", "No such file or directory"}) {
    CAPTURE(text);
    CHECK(!tells_of_no_room(text));
  }
}

TEST_CASE("overruns: programs' messages about too many open files") {
  CHECK(tells_of_open_files("OSError: [Errno 24] Too many open files: '/dev/null'"));
  CHECK(!tells_of_open_files("OSError: [Errno 28] No space left on device"));
}

TEST_CASE(
    "overruns: a file system that was never full is not named, and a released one not checked") {
  FullPlaces places;
  places.watch("disk", "1 GiB", Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)));
  places.close();
  places.look(true);
  CHECK(places.found().empty());
}

}  // namespace
}  // namespace muster::steward
