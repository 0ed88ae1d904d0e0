#include "machine/steward/card_memory.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;
using steward::CardMemory;

namespace {

using Lines = std::vector<std::string>;
const TimePoint start = TimePoint(1h);

/// A host with GPUs 0 and 3 whose ranks have pids below 10.
CardMemory memory() {
  return CardMemory({{":0a:00.0", 0}, {":0b:00.0", 3}}, [](std::int64_t pid) {
    return pid < 10 ? "rank " + std::to_string(pid) : std::string("another user's process");
  });
}

}  // namespace

TEST_CASE("card memory: the holders of the failed rank's card are named, with the list's age") {
  CardMemory of = memory();
  of.take(
      "00000000:0A:00.0, 1, 1024\n"
      "00000000:0B:00.0, 11, 512\n"
      "00000000:0B:00.0, 2, 61440\n"
      "00000000:0C:00.0, 2, 99999\n"  // Another host's card.
      "garbage\n",
      start);
  CHECK(of.lines().empty());
  of.keep(start + 3s);
  of.take("00000000:0A:00.0, 1, 1024", start + 5s);  // Rank 2 has ended.
  CHECK(of.lines().empty());
  of.blame(2, start + 6s);
  CHECK(of.lines() ==
        Lines{"memory of GPU 3, 3 s before: 60 GiB by rank 2, 512 MiB by another user's process"});
}

TEST_CASE("card memory: if the rank is unknown, all cards are named, the fullest first") {
  CardMemory of = memory();
  of.take("00000000:0A:00.0, 11, 1536\n00000000:0B:00.0, 2, 61440\n", start);
  of.blame(-1, start + 2s);
  CHECK(of.lines() == Lines{"memory of GPU 3, 2 s before: 60 GiB by rank 2",
                            "memory of GPU 0, 2 s before: 1.5 GiB by another user's process"});
}

TEST_CASE("card memory: a new list replaces the old one, and an old one explains nothing") {
  CardMemory of = memory();
  of.take("00000000:0B:00.0, 1, 1024", start);
  of.take("00000000:0B:00.0, 2, 2048", start + 5s);
  of.blame(-1, start + 5s);
  CHECK(of.lines() == Lines{"memory of GPU 3, 0 s before: 2 GiB by rank 2"});
  CardMemory old = memory();
  old.take("00000000:0B:00.0, 1, 1024", start);
  old.blame(-1, start + 13s);  // Empty lists followed.
  CHECK(old.lines().empty());
}

TEST_CASE("card memory: of many processes, some are named") {
  CardMemory of = memory();
  std::string list;
  for (int i = 0; i < 3000; ++i) list += "00000000:0B:00.0, 2, 1024\n";
  of.take(list, start);
  of.blame(2, start);
  REQUIRE(of.lines().size() == 1);
  CHECK(of.lines().front().ends_with("1 GiB by rank 2, 1016 more processes"));
}

TEST_CASE("card memory: a rank's cards are all on which it was ever listed") {
  CardMemory of = memory();
  of.take("00000000:0A:00.0, 1, 1024\n00000000:0B:00.0, 2, 1024\n", start);
  of.take("00000000:0A:00.0, 2, 1024\n", start + 5s);  // A card that failed is listed no more.
  CHECK(of.gpus_of(1) == std::set<int>{0});
  CHECK(of.gpus_of(2) == std::set<int>{0, 3});
  CHECK(of.gpus_of(3).empty());
  CHECK(of.gpus_of(-1).empty());
}
