#include "server/jobs/runner_world.h"

namespace muster::jobs {
namespace {

TEST_CASE("runner: an access key has a limited number of jobs that wait, after a restart too") {
  World world;
  world.waiting_max = 2;
  world.serve();
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("big", 2);
    co_await w.until_begun("big");
    w.submit("one");
    CHECK(w.runner->check_room("AK"));
    w.submit("two");
    CHECK(w.runner->check_room("AK").error().code == "ResourceLimitExceeded");
    CHECK(w.runner->check_room("AK").error().message ==
          "This access key has 2 waiting jobs and can have at most 2; see jobs.waiting_max in the "
          "server's config");
    CHECK(w.runner->check_room("OTHER"));
    w.read_at_start = std::chrono::milliseconds(0);
    w.serve();
    REQUIRE(w.runner->start());
    CHECK(w.runner->is_reading());
    CHECK(!w.runner->check_room("AK"));
    CHECK(w.runner->check_room("OTHER"));
    co_await w.until([&w] { return !w.runner->is_reading(); });
    CHECK(!w.runner->check_room("AK"));
    w.stop("two");
    co_await w.until_ended("two");
    CHECK(w.runner->check_room("AK"));
  };
  world.run(story(world));
}

TEST_CASE(
    "runner: calls are answered while a start reads jobs, and no job starts before its turn") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("big", 2);
    co_await w.until_begun("big");
    for (const char* name : {"a", "b", "c"}) w.submit(name, 2);
    w.submit("urgent", 2, "AK", 9);
    complete(w.job("big"));
    w.read_at_start = std::chrono::milliseconds(0);
    w.serve();
    REQUIRE(w.runner->start());
    // None of them is in the queue yet.
    CHECK(!w.runner->place("a"));
    CHECK(w.runner->waiting() == 4);
    w.submit("late", 2);
    w.stop("b");
    CHECK(w.runner->passes() == 0);
    co_await w.until([&w] { return !w.runner->is_reading(); });
    co_await w.until_ended("b");
    CHECK(w.secondary("b") == "Stopped");
    co_await w.until_begun("urgent");
    CHECK(w.runner->place("a")->place == 1);
    CHECK(w.runner->place("c")->place == 2);
    CHECK(w.runner->place("late")->place == 3);
  };
  world.run(story(world));
}

}  // namespace
}  // namespace muster::jobs
