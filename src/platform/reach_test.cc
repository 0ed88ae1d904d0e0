#include "platform/reach.h"

#include <doctest/doctest.h>

#include "engine/fake.h"
#include "net/loop/testing.h"
#include "net/loop/wait.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;

loop::Task<> turns(loop::Loop& loop) {
  loop::Timer timer(loop);
  co_await timer.after(1ms);
}

TEST_CASE("reach: a steward that owes an answer for too long is silent, until it gives one") {
  loop::Loop loop;
  engine::FakeCluster cluster(loop);
  engine::FakeEngine engine(cluster);
  job::Spec spec;
  spec.name = "demo";
  spec.instance_count = 2;
  engine::FakeJob& job = cluster.job(spec);
  const auto body = [&]() -> loop::Task<> {
    const Result<std::unique_ptr<engine::Run>> run = co_await engine.start(spec);
    REQUIRE(run);
    loop::Tasks tasks(loop);
    ReachWatch watch(tasks, **run);
    TimePoint now = Clock::now();
    CHECK(watch.look(now) == Reach{2, 0});
    co_await turns(loop);
    job.host("algo-2").is_silent = true;
    CHECK(watch.look(now += 1h) == Reach{2, 0});  // No host was asked in that hour.
    co_await turns(loop);
    CHECK(watch.look(now += ReachWatch::silent_after - 1ms) == Reach{2, 0});
    CHECK(watch.look(now += 1ms) == Reach{2, 1});
    co_await turns(loop);
    CHECK(watch.look(now += 1h) == Reach{2, 1});
    job.host("algo-2").is_silent = false;
    job.moved.notify();
    co_await turns(loop);
    CHECK(watch.look(now) == Reach{2, 0});
    co_await turns(loop);
    job.host("algo-2").ends();
    CHECK(watch.look(now).silent == 0);
    co_await turns(loop);
    CHECK(watch.look(now).silent == 0);
    tasks.end();
  };
  loop::run_task(loop, body());
}

TEST_CASE("reach: silent hosts are counted") {
  CHECK(silence_text({}).empty());
  CHECK(silence_text({3, 0}).empty());
  CHECK(silence_text({1, 1}) == "1 of 1 steward does not respond");
  CHECK(silence_text({3, 1}) == "1 of 3 stewards does not respond");
  CHECK(silence_text({3, 2}) == "2 of 3 stewards do not respond");
}

}  // namespace
}  // namespace muster::platform
