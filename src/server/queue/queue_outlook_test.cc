#include <doctest/doctest.h>

#include "server/queue/queue.h"

namespace muster::jobs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// 2026-01-31 12:00 UTC.
constexpr UnixMillis noon{1'769'860'800'000};

Demand job(const char* name, const char* key, Amounts needs, int priority = 0,
           minutes length = minutes(60)) {
  return {.job = name,
          .needs = std::move(needs),
          .key = key,
          .priority = priority,
          .submitted = noon - minutes(5),
          .run_time = length,
          .length = length + minutes(10)};
}

struct Told {
  Queue queue{{{"gpu", 8}, {"cpu", 16000}}};

  Told& runs(Demand demand, minutes since = minutes(5)) {
    queue.take_up(std::move(demand), noon - since);
    return *this;
  }
  Told& waits(Demand demand) {
    queue.add(std::move(demand));
    return *this;
  }
  std::string why(const char* name) const { return queue.why_waiting(name, noon); }
};

TEST_CASE("queue outlook: a waiting job has its place, and what it waits for until when") {
  Told told;
  told.runs(job("r", "A", {{"gpu", 7}, {"cpu", 1000}}))
      .waits(job("a", "A", {{"gpu", 4}, {"cpu", 4000}}))
      .waits(job("b", "A", {{"gpu", 1}}))
      .waits(job("c", "A", {{"gpu", 2}}))
      .waits(job("d", "A", {{"cpu", 16000}}, 0, hours(48)));
  CHECK(told.why("a") ==
        "place 1 of 4; gpus: 4 requested, 1 of 8 free; starts when r ends, by 13:05 UTC at the "
        "latest");
  CHECK(told.why("c") == "place 3 of 4, behind a; gpus: 2 requested, 1 of 8 free");
  CHECK(told.why("d") == "place 4 of 4, behind a; cpus: 16 requested, 15 of 16 free");
  CHECK(told.why("r").empty());
  Told full;
  full.runs(job("r", "A", {{"gpu", 7}}, 0, hours(30) - minutes(10)))
      .runs(job("s", "A", {{"gpu", 1}}, 0, hours(24)))
      .waits(job("a", "A", {{"gpu", 4}}));
  CHECK(full.why("a") ==
        "place 1 of 1; gpus: 4 requested, 0 of 8 free; starts when r ends, by 2026-02-01 17:55 UTC "
        "at "
        "the latest");
}

TEST_CASE("queue outlook: jobs wait as docs/users/queue.md shows it") {
  const auto why = [](int gpus, const char* name) {
    Told jobs;
    jobs.runs(job("train-7", "A", {{"gpu", 7}}, 0, hours(2)));
    jobs.waits(job("train-8", "A", {{"gpu", gpus}}));
    jobs.waits(job("train-9", "A", {{"gpu", 1}}, 0, hours(3)));
    return jobs.why(name);
  };
  CHECK(why(4, "train-8") ==
        "place 1 of 2; gpus: 4 requested, 1 of 8 free; starts when train-7 ends, by 14:05 UTC at "
        "the latest");
  CHECK(why(8, "train-9") ==
        "place 2 of 2, behind train-8; with MaxRuntimeInSeconds up to 6840 it could start now");
}

TEST_CASE("queue outlook: a waiting job has the reason why others precede it") {
  Told told;
  told.runs(job("r", "A", {{"gpu", 6}})).waits(job("first", "B", {{"gpu", 8}}, 5));
  told.waits(job("low", "B", {{"gpu", 8}}, 4));
  CHECK(told.why("low") ==
        "place 2 of 2, behind first, which has a higher priority; gpus: 8 requested, 2 of 8 free");
  const auto mine = [](minutes theirs_waited) {
    Told shares;
    shares.runs(job("r", "A", {{"gpu", 6}})).waits(job("mine", "A", {{"gpu", 8}}));
    Demand theirs = job("theirs", "B", {{"gpu", 8}});
    theirs.submitted -= theirs_waited;
    return shares.waits(theirs).why("mine");
  };
  CHECK(mine(minutes(0)) ==
        "place 2 of 2, behind theirs, whose key uses 0 % of the machine, while this job's key uses "
        "75 %; gpus: 8 requested, 2 of 8 free");
  CHECK(mine(hours(7)).starts_with(
      "place 2 of 2, behind theirs, whose priority rose while it waited;"));
  CHECK(mine(hours(67)).starts_with("place 2 of 2, behind theirs, which has waited longest;"));
}

TEST_CASE("queue outlook: a job that fits learns what would let it start") {
  Told told;
  told.runs(job("r", "A", {{"gpu", 6}})).waits(job("gang", "A", {{"gpu", 8}}));
  told.waits(job("one", "A", {{"gpu", 1}}, 0, hours(2)));
  // The gang starts by 13:05; 10 minutes of margin and one to submit it again.
  CHECK(told.why("one") ==
        "place 2 of 2, behind gang; with MaxRuntimeInSeconds up to 3240 it could start now");
  Told soon;
  soon.runs(job("r", "A", {{"gpu", 6}}), minutes(61)).waits(job("gang", "A", {{"gpu", 8}}));
  soon.waits(job("one", "A", {{"gpu", 1}}, 0, hours(2)));
  CHECK(soon.why("one") == "place 2 of 2, behind gang");
}

TEST_CASE("queue outlook: a job that the machine can no longer hold learns so") {
  Told told;
  told.waits(job("a", "A", {{"gpu", 9}}));
  CHECK(told.why("a") == "place 1 of 1; can never start: gpus: 9 requested, 8 available");
  Told shrunk;
  shrunk.runs(job("r", "A", {{"gpu", 12}})).waits(job("a", "A", {{"gpu", 8}}));
  CHECK(shrunk.why("a").starts_with("place 1 of 1; gpus: 8 requested, 0 of 8 free; starts when r"));
}

}  // namespace
}  // namespace muster::jobs
