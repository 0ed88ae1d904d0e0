#include "jobs/queue.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("queue: jobs start in their order, as far as there is room") {
  Queue queue({{"gpu", 4}});
  queue.add({"a", {{"gpu", 2}}});
  queue.add({"b", {{"gpu", 2}}});
  queue.add({"c", {{"gpu", 1}}});
  CHECK(queue.start() == Names{"a", "b"});
  CHECK(queue.start().empty());
  CHECK(queue.runs("a"));
  CHECK(queue.waits("c"));
  queue.end("a");
  CHECK(queue.start() == Names{"c"});
  CHECK(!queue.waits("c"));
  CHECK(queue.runs("c"));
}

TEST_CASE("queue: a gang that waits is not overtaken by what needs the same") {
  Queue queue({{"gpu", 4}, {"cpu", 8}});
  queue.add({"small", {{"gpu", 1}}});
  CHECK(queue.start() == Names{"small"});
  queue.add({"gang", {{"gpu", 4}}});
  queue.add({"another", {{"gpu", 1}}});
  queue.add({"elsewhere", {{"cpu", 1}}});
  CHECK(queue.start() == Names{"elsewhere"});
  queue.end("small");
  CHECK(queue.start() == Names{"gang"});
  queue.end("gang");
  CHECK(queue.start() == Names{"another"});
}

TEST_CASE("queue: a job that is withdrawn gives way, and what runs cannot be") {
  Queue queue({{"gpu", 1}});
  queue.add({"a", {{"gpu", 1}}});
  queue.add({"b", {{"gpu", 1}}});
  queue.add({"c", {{"gpu", 1}}});
  CHECK(queue.start() == Names{"a"});
  CHECK(!queue.withdraw("a"));
  CHECK(queue.withdraw("b"));
  CHECK(!queue.withdraw("b"));
  CHECK(!queue.withdraw("nobody"));
  queue.end("a");
  CHECK(queue.start() == Names{"c"});
}

TEST_CASE("queue: jobs of an earlier server hold what they need, also beyond the capacity") {
  Queue queue({{"gpu", 2}});
  queue.take_up({"old", {{"gpu", 3}}});
  queue.add({"new", {{"gpu", 1}}});
  CHECK(queue.start().empty());
  queue.end("old");
  CHECK(queue.start() == Names{"new"});
}

TEST_CASE("queue: without a capacity every job starts at once") {
  Queue queue({});
  queue.add({"a", {{"gpu", 64}}});
  queue.add({"b", {{"gpu", 64}}});
  CHECK(queue.start() == Names{"a", "b"});
}

TEST_CASE("queue: a name that has ended may come again") {
  Queue queue({{"gpu", 1}});
  queue.add({"a", {{"gpu", 1}}});
  CHECK(queue.start() == Names{"a"});
  queue.end("a");
  queue.add({"a", {{"gpu", 1}}});
  CHECK(queue.start() == Names{"a"});
}

}  // namespace
}  // namespace muster::jobs
