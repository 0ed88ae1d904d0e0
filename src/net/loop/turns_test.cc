#include "net/loop/turns.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/loop/testing.h"

using namespace muster;
using namespace std::chrono_literals;
using loop::Loop;
using loop::Task;
using loop::Tasks;
using loop::Turns;

namespace {

struct World {
  Loop loop;
  Turns turns{{.at_once = 2, .of_party = 1, .waiting_of_party = 3}};
  loop::Event over{loop};  ///< Ends the next piece of work.
  std::string begun;       ///< Parties, in the order in which they got a place.
  int refused = 0;
};

Task<void> work(World& world, std::string party) {
  const Result<Turns::Turn> turn = co_await world.turns.take(world.loop, party);
  if (!turn) {
    CHECK(turn.error().code == Errc::denied);
    ++world.refused;
    co_return;
  }
  world.begun += party + " ";
  co_await world.over.wait();
}

Task<void> until(World& world, std::string begun) {
  for (int turns = 0; turns < 1000 && world.begun != begun; ++turns) co_await world.loop.turn();
  CHECK(world.begun == begun);
}

}  // namespace

TEST_CASE("turns: a party with many requests waits behind its own, not in front of others'") {
  World world;
  Tasks tasks(world.loop);
  const auto test = [](World& of, Tasks& with) -> Task<void> {
    for (int i = 0; i < 6; ++i) with.start(work(of, "eager"));
    co_await until(of, "eager ");
    CHECK(of.refused == 2);  // One works, three wait.
    with.start(work(of, "late"));
    with.start(work(of, "third"));
    co_await until(of, "eager late ");
    of.over.notify();
    co_await until(of, "eager late third eager ");
    of.over.notify();
    co_await until(of, "eager late third eager eager ");
    of.over.notify();
    of.over.notify();
    co_await until(of, "eager late third eager eager eager ");
    of.over.notify();
  };
  run_task(world.loop, test(world, tasks));
}

TEST_CASE("turns: a task that is destroyed gives back its place, also the one in its queue") {
  World world;
  Tasks lasting(world.loop);
  const auto test = [](World& of, Tasks& with) -> Task<void> {
    auto given_up = std::make_unique<Tasks>(of.loop);
    with.start(work(of, "one"));
    given_up->start(work(of, "two"));
    given_up->start(work(of, "one"));
    co_await until(of, "one two ");
    with.start(work(of, "three"));
    with.start(work(of, "one"));
    co_await of.loop.turn();
    given_up.reset();
    co_await until(of, "one two three ");
    of.over.notify();
    co_await until(of, "one two three one ");
    of.over.notify();
  };
  run_task(world.loop, test(world, lasting));
}

TEST_CASE("turns: tasks of many threads work in places that are never more than there are") {
  Turns turns({.at_once = 3, .of_party = 2, .waiting_of_party = 64});
  std::atomic<int> working = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Loop own;
      Tasks tasks(own);
      const auto one = [&](std::string party) -> Task<void> {
        const Result<Turns::Turn> turn = co_await turns.take(own, std::move(party));
        REQUIRE(turn);
        const int now = ++working;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        co_await own.turn();
        --working;
        ++done;
      };
      for (int j = 0; j < 50; ++j) tasks.start(one(std::to_string((i + j) % 5)));
      own.run();
    });
  for (std::thread& each : threads) each.join();
  CHECK(done == 200);
  CHECK(most <= 3);
}
