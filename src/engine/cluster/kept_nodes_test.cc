#include "engine/cluster/kept_nodes.h"

#include <doctest/doctest.h>

#include "net/loop/testing.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;
using loop::Task;

/// A cluster that answers when the test lets it.
struct Cluster {
  explicit Cluster(loop::Loop& loop) : allowed(loop) {}
  KeptNodes::Ask ask() {
    return [this]() -> Task<Result<Json>> {
      ++asked;
      while (is_held) co_await allowed.wait();
      if (is_down) co_return fail(Errc::system, "Slurm is down");
      co_return Json("answer " + std::to_string(asked));
    };
  }
  void answer() {
    is_held = false;
    allowed.notify();
  }

  int asked = 0;
  bool is_held = false;
  bool is_down = false;
  loop::Event allowed;
};

TEST_CASE("kept nodes: Slurm is asked once for all who ask within the hold time") {
  loop::Loop loop;
  Cluster cluster(loop);
  KeptNodes nodes(loop, cluster.ask(), {.hold = 1h, .wait = 1h});
  loop::Tasks tasks(loop);
  std::vector<Json> seen_by_all;
  cluster.is_held = true;
  const auto viewer = [&]() -> Task<> {
    const auto seen = co_await nodes.read();
    REQUIRE(seen);
    seen_by_all.push_back(*seen);
  };
  const auto test = [&]() -> Task<> {
    tasks.start(viewer());
    tasks.start(viewer());
    CHECK_FALSE(co_await tasks.join_until(Clock::now() + 20ms));
    cluster.answer();
    co_await tasks.join();
    co_await viewer();
  };
  loop::run_task(loop, test());
  CHECK(seen_by_all == std::vector<Json>(3, "answer 1"));
  CHECK(cluster.asked == 1);
}

TEST_CASE("kept nodes: Slurm is asked again later, and after an error") {
  loop::Loop loop;
  Cluster cluster(loop);
  KeptNodes nodes(loop, cluster.ask(), {.hold = 0s, .wait = 1h});
  cluster.is_down = true;
  const auto test = [&]() -> Task<> {
    const auto down = co_await nodes.read();
    REQUIRE_FALSE(down);
    CHECK(down.error().text == "Slurm is down");
    cluster.is_down = false;
    const auto up = co_await nodes.read();
    REQUIRE(up);
    CHECK(*up == "answer 2");
  };
  loop::run_task(loop, test());
}

TEST_CASE("kept nodes: a call waits for Slurm only briefly, and a late answer is kept") {
  loop::Loop loop;
  Cluster cluster(loop);
  KeptNodes nodes(loop, cluster.ask(), {.hold = 1h, .wait = 10ms});
  cluster.is_held = true;
  const auto test = [&]() -> Task<> {
    const auto late = co_await nodes.read();
    REQUIRE_FALSE(late);
    CHECK(late.error().code == Errc::timeout);
    cluster.answer();
    const auto seen = co_await nodes.read();
    REQUIRE(seen);
    CHECK(*seen == "answer 1");
  };
  loop::run_task(loop, test());
  CHECK(cluster.asked == 1);
}

TEST_CASE("kept nodes: while Slurm does not answer, its last answer serves for a while") {
  loop::Loop loop;
  Cluster cluster(loop);
  KeptNodes nodes(loop, cluster.ask(), {.hold = 0s, .wait = 10ms, .late = 1h});
  const auto test = [&]() -> Task<> {
    REQUIRE(co_await nodes.read());
    cluster.is_held = true;
    const auto seen = co_await nodes.read();
    REQUIRE(seen);
    CHECK(*seen == "answer 1");
  };
  loop::run_task(loop, test());
  CHECK(cluster.asked == 2);
}

}  // namespace
}  // namespace muster::cluster
