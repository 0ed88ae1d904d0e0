#include "platform/usage_watch.h"

#include <doctest/doctest.h>

#include <functional>

#include "engine/fake.h"
#include "net/loop/testing.h"
#include "net/loop/wait.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;

struct Bench {
  Bench() {
    spec.name = "demo";
    spec.instance_count = 2;
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  engine::FakeHost& host(const std::string& name) { return cluster.job(spec).host(name); }
  void uses(int percent, std::int64_t memory) {
    host("algo-1").usage =
        engine::Usage{.gpus = {{.number = 3, .percent = percent, .memory_bytes = memory}}};
  }
  /// Does something with a watch of the started job.
  void run(const std::function<loop::Task<>(UsageWatch& watch)>& story) {
    const auto body = [&]() -> loop::Task<> {
      const Result<std::unique_ptr<engine::Run>> run = co_await engine.start(spec);
      REQUIRE(run);
      loop::Tasks tasks(loop);
      UsageWatch watch(loop, tasks, **run);
      co_await story(watch);
      tasks.end();
    };
    loop::run_task(loop, body());
  }

  loop::Loop loop;
  engine::FakeCluster cluster{loop};
  engine::FakeEngine engine{cluster};
  job::Spec spec;
};

TEST_CASE("usage watch: a look asks hosts once, and tells again what is young enough") {
  Bench bench;
  bench.uses(10, 7);
  bench.run([&](UsageWatch& watch) -> loop::Task<> {
    CHECK(watch.seen(1h).empty());  // No host has answered yet.
    const std::vector<job::HostUsage> first = co_await watch.look(1h);
    REQUIRE(first.size() == 1);  // algo-2 cannot tell.
    CHECK(first[0].host == "algo-1");
    CHECK(first[0].usage.gpus[0].percent == 10);
    bench.uses(90, 5);
    CHECK((co_await watch.look(1h)) == first);
    CHECK(watch.seen(1h) == first);
    CHECK((co_await watch.look(0ms))[0].usage.gpus[0].percent == 90);
    CHECK(!watch.is_hopeless());
    bench.host("algo-1").ends();
    CHECK((co_await watch.look(0ms)).size() == 1);  // For half a minute.
    CHECK((co_await watch.sample()).empty());
  });
}

TEST_CASE("usage watch: hosts are told whether somebody looks") {
  Bench bench;
  bench.uses(10, 7);
  bench.run([&](UsageWatch& watch) -> loop::Task<> {
    static_cast<void>(co_await watch.sample());
    static_cast<void>(watch.seen(0ms));
    CHECK(bench.host("algo-1").viewed == 0);
    static_cast<void>(co_await watch.look(1h));  // The round ran already.
    CHECK(bench.host("algo-1").viewed == 0);
    static_cast<void>(co_await watch.sample());
    CHECK(bench.host("algo-1").viewed == 1);
  });
}

TEST_CASE("usage watch: a sample has the mean of GPUs, whoever looked in between") {
  Bench bench;
  bench.uses(100, 9);
  bench.run([&](UsageWatch& watch) -> loop::Task<> {
    static_cast<void>(co_await watch.look(0ms));
    bench.uses(-1, 0);  // Nothing was reported.
    static_cast<void>(co_await watch.look(0ms));
    bench.uses(0, 5);
    const std::vector<job::HostUsage> sample = co_await watch.sample();
    REQUIRE(sample.size() == 1);
    CHECK(sample[0].usage.gpus[0].percent > 0);
    CHECK(sample[0].usage.gpus[0].memory_bytes == 9);
    const std::vector<job::HostUsage> next = co_await watch.sample();
    CHECK(next[0].usage.gpus[0].percent == 0);
    CHECK(next[0].usage.gpus[0].memory_bytes == 5);
  });
}

TEST_CASE("usage watch: who waits for hosts does so no longer than the job") {
  Bench bench;
  bench.uses(1, 1);
  bench.run([&](UsageWatch& watch) -> loop::Task<> {
    loop::Task<std::vector<job::HostUsage>> look = watch.look(0ms);
    bench.host("algo-1").ends();
    CHECK((co_await std::move(look)).size() <= 1);
    CHECK(watch.is_hopeless() == false);
  });
}

TEST_CASE("usage watch: hosts that cannot be measured yet are asked again") {
  Bench bench;
  bench.run([&](UsageWatch& watch) -> loop::Task<> {
    for (int i = 0; i < 9; ++i) CHECK((co_await watch.sample()).empty());
    CHECK(!watch.is_hopeless());
    bench.uses(1, 1);
    CHECK((co_await watch.sample()).size() == 1);
    bench.host("algo-1").usage.reset();
    for (int i = 0; i < 9; ++i) static_cast<void>(co_await watch.sample());
    CHECK(!watch.is_hopeless());
    static_cast<void>(co_await watch.sample());
    CHECK(watch.is_hopeless());
  });
}

}  // namespace
}  // namespace muster::platform
