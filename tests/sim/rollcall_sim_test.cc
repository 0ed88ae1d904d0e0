// Whole roll calls from a seed: the real state machines, a network and a clock of our own.

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "seeds.h"
#include "world.h"

using namespace muster;
using namespace std::chrono_literals;
using job::Outcome;
using job::Verdict;
using sim::End;
using sim::Host;
using sim::World;

namespace {

constexpr Duration join_deadline = 60s;
constexpr Duration bound = 8s;  ///< From a fault to the end of every other host.

std::vector<Host> hosts_of(std::mt19937_64& random) {
  std::vector<Host> hosts(2 + random() % 6);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = "algo-" + std::to_string(i + 1);
    hosts[i].arrives = std::chrono::milliseconds(random() % 20000);
  }
  return hosts;
}

Verdict ended(int rank, const std::string& host, Outcome outcome) {
  return {.outcome = std::move(outcome),
          .host = host,
          .process = rank < 0 ? "orted" : "rank " + std::to_string(rank),
          .rank = rank,
          .last_lines = {},
          .command = {}};
}

/// Every host but `gone` has ended by `by`.
void check_all_ended(const World& world, std::size_t hosts, std::size_t gone, TimePoint by) {
  for (std::size_t i = 0; i < hosts; ++i) {
    if (i == gone) continue;
    CAPTURE(i);
    REQUIRE(world.end_of(i));
    CHECK(world.end_of(i)->at <= by);
  }
}

}  // namespace

TEST_CASE("sim: if all hosts connect the job starts, whatever the order, resets and pauses") {
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Host> hosts = hosts_of(random);
    World world(seed, hosts, join_deadline);
    world.add_noise();
    const TimePoint begin = world.now();
    world.run(begin + 100s);
    REQUIRE(world.started());
    CHECK(*world.started_at() <= begin + 55s);
    if (world.broken_at_start().empty()) {
      CHECK_FALSE(world.verdict());
      for (std::size_t i = 0; i < hosts.size(); ++i) CHECK_FALSE(world.end_of(i));
    } else {
      REQUIRE(world.verdict());
      const auto& broken = world.broken_at_start();
      CHECK(std::find(broken.begin(), broken.end(), world.verdict()->host) != broken.end());
      // A host whose connection broke as the job began may not know that it did: it calls again,
      // without an answer, until its own deadline.
      const TimePoint by = *world.started_at() + bound;
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        CAPTURE(i);
        REQUIRE(world.end_of(i));
        const bool is_broken =
            std::find(broken.begin(), broken.end(), hosts[i].name) != broken.end();
        CHECK(world.end_of(i)->at <= (is_broken ? by + join_deadline : by));
      }
    }
  }
}

TEST_CASE("sim: missing hosts are named, exactly, to every host that connected") {
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<Host> hosts = hosts_of(random);
    std::vector<std::string> missing;
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      const std::uint64_t fate = random() % 6;
      if (fate == 0) hosts[i].comes = false;
      if (fate == 1) hosts[i].right_key = false;
      if (fate == 2) hosts[i].version = 2;
      if (fate <= 2) missing.push_back(hosts[i].name);
    }
    if (missing.empty()) {
      hosts.back().comes = false;
      missing.push_back(hosts.back().name);
    }
    World world(seed, hosts, join_deadline);
    const TimePoint begin = world.now();
    world.run(begin + 200s);
    CHECK_FALSE(world.started());
    CHECK(world.missing().size() == hosts.size() - 1);  // All were dismissed at the end.
    REQUIRE(world.end_of(0));
    const std::string why = world.end_of(0)->why;
    REQUIRE(why.starts_with("gave up: "));
    const std::string named = why.substr(9, why.find(" did not join within 60 s") - 9);
    CHECK(world.end_of(0)->at <= begin + hosts[0].arrives + join_deadline + 2s);
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      CAPTURE(hosts[i].name);
      const bool is_missing =
          std::find(missing.begin(), missing.end(), hosts[i].name) != missing.end();
      CHECK((named.find(hosts[i].name) != std::string::npos) == is_missing);
      if (!hosts[i].comes) continue;
      REQUIRE(world.end_of(i));
      const std::string& end = world.end_of(i)->why;
      if (!is_missing) CHECK(end == "failed: " + why.substr(9));
      if (!hosts[i].right_key) CHECK(end.find("rejected this side's key") != std::string::npos);
      if (hosts[i].version == 2) CHECK(end.find("uses version 2") != std::string::npos);
    }
  }
}

TEST_CASE("sim: a leader that never appears is named by every member at its own deadline") {
  for (const std::uint64_t seed : sim::seeds(50)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<Host> hosts = hosts_of(random);
    hosts[0].comes = false;
    World world(seed, hosts, join_deadline);
    const TimePoint begin = world.now();
    world.run(begin + 100s);
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      REQUIRE(world.end_of(i));
      CHECK(world.end_of(i)->at == begin + hosts[i].arrives + join_deadline);
      CHECK(world.end_of(i)->why.find("(the leader) did not respond within 60 s") !=
            std::string::npos);
    }
  }
}

TEST_CASE(
    "sim: a host killed, cut off or stopped ends every other host in time and is the verdict") {
  for (const std::uint64_t seed : sim::seeds(400)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Host> hosts = hosts_of(random);
    World world(seed, hosts, join_deadline);
    const std::size_t victim = random() % hosts.size();
    const std::uint64_t kind = random() % 3;
    TimePoint fault{};
    world.on_start = [&] {
      world.at(world.now() + world.between(1s, 20s), [&] {
        fault = world.now();
        if (kind == 0) world.kill(victim);
        if (kind == 1) world.cut(victim, TimePoint::max());
        if (kind == 2) world.freeze(victim, TimePoint::max());
      });
    };
    world.run(world.now() + 120s);
    CAPTURE(victim);
    CAPTURE(kind);
    REQUIRE(world.started());
    check_all_ended(world, hosts.size(), victim, fault + bound);
    if (victim == 0) {
      for (std::size_t i = 1; i < hosts.size(); ++i)
        CHECK(world.end_of(i)->why.starts_with("lost: "));
      continue;
    }
    REQUIRE(world.verdict());
    CHECK(world.verdict()->host == hosts[victim].name);
    CHECK(world.verdict()->outcome.kind == Outcome::Kind::lost);
    for (std::size_t i = 1; i < hosts.size(); ++i)
      if (i != victim) CHECK(world.end_of(i)->why == "end");
    // A host that lost the leader by being cut off ends too.
    if (kind == 1) CHECK(world.end_of(victim)->why.starts_with("lost: "));
  }
}

TEST_CASE("sim: the rank that died is the verdict, not those that lost their peer with it") {
  for (const std::uint64_t seed : sim::seeds(400)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Host> hosts = hosts_of(random);
    World world(seed, hosts, join_deadline);
    const std::size_t victim = random() % hosts.size();
    const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGKILL};
    const int signal = signals[random() % 4];
    const int rank = static_cast<int>(victim) * 2;
    TimePoint fault{};
    world.on_start = [&] {
      world.at(world.now() + world.between(1s, 20s), [&] {
        fault = world.now();
        world.process_ends(victim, ended(rank, hosts[victim].name, Outcome::signaled(signal)));
        for (std::size_t i = 0; i < hosts.size(); ++i) {
          const int peer = static_cast<int>(i) * 2 + 1;
          world.at(world.now() + world.between(1ms, 100ms), [&, i, peer] {
            world.process_ends(i, ended(peer, hosts[i].name, Outcome::exited(15)));
          });
          world.at(world.now() + 1500ms, [&, i, peer] {
            world.process_ends(i, ended(peer + 100, hosts[i].name, Outcome::signaled(SIGKILL)));
          });
        }
      });
    };
    world.run(world.now() + 120s);
    CAPTURE(victim);
    CAPTURE(signal);
    REQUIRE(world.verdict());
    CHECK(world.verdict()->rank == rank);
    CHECK(world.verdict()->outcome == Outcome::signaled(signal));
    check_all_ended(world, hosts.size(), hosts.size(), fault + 2s);
  }
}

TEST_CASE("sim: the same seed gives the same run") {
  std::vector<std::string> runs;
  for (int i = 0; i < 2; ++i) {
    std::mt19937_64 random(7);
    const std::vector<Host> hosts = hosts_of(random);
    World world(7, hosts, join_deadline);
    world.add_noise();
    world.run(world.now() + 100s);
    REQUIRE(world.started());
    runs.push_back(std::to_string(world.started_at()->time_since_epoch().count()) + " " +
                   std::to_string(world.say_count()));
  }
  CHECK(runs[0] == runs[1]);
}
