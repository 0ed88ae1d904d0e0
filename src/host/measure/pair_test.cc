#include "host/measure/pair.h"

#include <doctest/doctest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>

namespace muster::preflight {
namespace {

/// Long enough to measure a rate: a busy machine may keep a thread waiting for 40 ms and more.
const Timing quick = {.send = std::chrono::milliseconds(300),
                      .warm_up = std::chrono::milliseconds(5),
                      .late = std::chrono::milliseconds(100),
                      .connect = std::chrono::milliseconds(400)};

struct Two {
  Two() {
    for (Listener& listener : listeners) {
      Result<Listener> opened = listen_at("127.0.0.1");
      REQUIRE(opened);
      listener = *std::move(opened);
    }
    first = {
        true, "a", "b", "127.0.0.1", listeners[1].port, std::string(32, 'h'), std::string(32, 'r')};
    second = first;
    second.connects = false;
    second.self = "b";
    second.peer = "a";
    second.port = listeners[0].port;
  }

  std::vector<PairFacts> run() {
    auto other =
        std::async(std::launch::async, [this] { return measure(second, listeners[1], quick); });
    std::vector<PairFacts> told = measure(first, listeners[0], quick);
    for (const PairFacts& each : other.get()) told.push_back(each);
    return merged(told);
  }

  Listener listeners[2];
  PairTask first;
  PairTask second;
};

TEST_CASE("both ways between two hosts are measured, and opened") {
  Two two;
  const std::vector<PairFacts> ways = two.run();
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].from == "a");
  CHECK(ways[0].latency_us > 0);
  for (const PairFacts& way : ways) {
    CHECK(way.error == "");
    CHECK(way.bits_per_second > 1e6);
  }
}

TEST_CASE("a port without a listener is an error in that direction only") {
  Two two;
  two.first.port = 1;
  std::vector<PairFacts> ways = two.run();
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].error == "port 1 of 127.0.0.1: cannot connect: Connection refused");
  CHECK(ways[1].error == "");
  Two back;
  back.second.port = 1;
  ways = back.run();
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].error == "");
  CHECK(ways[0].bits_per_second > 0);
  CHECK(ways[1].error == "port 1 of 127.0.0.1: cannot connect: Connection refused");
}

TEST_CASE("without the pair's token there is no measurement") {
  Two two;
  two.first.hello = std::string(32, 'x');
  const std::vector<PairFacts> ways = two.run();
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].error.find("no response within 400 ms") != std::string::npos);
  CHECK(ways[0].bits_per_second == 0);
  Two other;
  other.first.answer = std::string(32, 'x');
  CHECK(other.run()[0].error.find("another program is listening on this port") !=
        std::string::npos);
}

TEST_CASE("a peer that is not there ends in its time") {
  Two two;
  const TimePoint begin = Clock::now();
  const std::vector<PairFacts> alone = measure(two.second, two.listeners[1], quick);
  CHECK(alone[0].bits_per_second == 0);
  CHECK(Clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a task is parsed back unchanged, and invalid ones are refused") {
  Two two;
  const Result<PairTask> got = pair_task_from(to_text(to_json(two.first)));
  REQUIRE(got);
  CHECK(*got == two.first);
  for (const char* name : {"hello", "answer", "port", "connects"}) {
    CAPTURE(name);
    for (const Json& wrong : {Json("00"), Json(-1), Json(65536), Json(nullptr)}) {
      Json json = to_json(two.first);
      json[name] = wrong;
      CHECK_FALSE(pair_task_from(to_text(json)));
    }
  }
  CHECK_FALSE(pair_task_from("[]"));
  CHECK_FALSE(pair_task_from("{"));
  CHECK_FALSE(listen_at("no address"));
}

TEST_CASE("of a way that was measured twice the better figures stand") {
  const std::vector<PairFacts> ways = merged({{"a", "b", 90, 0, ""},
                                              {"a", "b", 0, 2e9, ""},
                                              {"b", "a", 0, 0, "refused"},
                                              {"a", "b", 40, 1e9, ""}});
  CHECK(ways == std::vector<PairFacts>{{"a", "b", 40, 2e9, ""}, {"b", "a", 0, 0, "refused"}});
}

TEST_CASE("the ring has each edge once, and no host twice in a round") {
  CHECK(ring_rounds(0).empty());
  CHECK(ring_rounds(1).empty());
  for (const std::size_t hosts : {2u, 3u, 4u, 5u, 8u, 9u}) {
    CAPTURE(hosts);
    std::set<std::pair<std::size_t, std::size_t>> edges;
    for (const auto& round : ring_rounds(hosts)) {
      std::set<std::size_t> busy;
      for (const auto& [from, to] : round) {
        CHECK(busy.insert(from).second);
        CHECK(busy.insert(to).second);
        CHECK(edges.insert({std::min(from, to), std::max(from, to)}).second);
      }
    }
    CHECK(edges.size() == (hosts == 2 ? 1 : hosts));
  }
}

}  // namespace
}  // namespace muster::preflight
