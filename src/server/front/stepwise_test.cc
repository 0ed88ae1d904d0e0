#include "server/front/stepwise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "net/loop/tasks.h"
#include "net/loop/testing.h"

namespace muster::server {
namespace {

constexpr int steps_of_each = 20;

struct World {
  loop::Loop loop;
  Stepwise stepwise{loop};
  int steps = 0;
  int open = 0;
  std::vector<int> in_turn;  ///< How many steps there were between two turns of the loop.
  std::vector<api::Answer> answers;

  loop::Task<void> call(std::string key) {
    ++open;
    int left = steps_of_each;
    Stepwise::Step step = [&]() -> std::optional<api::Answer> {
      ++steps;
      if (--left > 0) return std::nullopt;
      return Json{{"by", key}};
    };
    api::Answer answer = co_await stepwise.run(key, std::move(step));
    answers.push_back(std::move(answer));
    --open;
  }

  /// Another user of the loop, which asks for its turn again and again.
  loop::Task<void> others() {
    while (open > 0) {
      const int before = steps;
      co_await loop.turn();
      in_turn.push_back(steps - before);
    }
  }

  void run(int calls, int keys) {
    const auto story = [&]() -> loop::Task<void> {
      loop::Tasks tasks(loop);
      for (int at = 0; at < calls; ++at) tasks.start(call("AK" + std::to_string(at % keys)));
      tasks.start(others());
      co_await tasks.join();
    };
    run_task(loop, story());
  }
};

TEST_CASE("stepwise: of many deletions and searches one step is made at a time, others between") {
  for (const int calls : {1, 2, 300}) {
    CAPTURE(calls);
    World world;
    world.run(calls, 3);
    CHECK(world.answers.size() == static_cast<std::size_t>(calls));
    for (const api::Answer& each : world.answers) CHECK(each);
    CHECK(world.steps == calls * steps_of_each);
    CHECK(*std::max_element(world.in_turn.begin(), world.in_turn.end()) == 1);
  }
}

TEST_CASE("stepwise: a key's calls wait behind its own, and too many of them are refused") {
  World world;
  const auto story = [&]() -> loop::Task<void> {
    loop::Tasks tasks(world.loop);
    for (int at = 0; at < 900; ++at) tasks.start(world.call("greedy"));
    tasks.start(world.call("modest"));
    while (world.answers.empty()) co_await world.loop.turn();
    CHECK(*world.answers.front() == Json{{"by", "modest"}});
    CHECK(world.steps <= 3 * steps_of_each);
    for (int at = 0; at < 200; ++at) tasks.start(world.call("greedy"));
    co_await tasks.join();
    CHECK(std::count_if(world.answers.begin(), world.answers.end(), [](const api::Answer& each) {
            return !each && each.error().code == "ThrottlingException";
          }) >= 99);
  };
  run_task(world.loop, story());
}

}  // namespace
}  // namespace muster::server
