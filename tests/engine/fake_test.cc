// What only an engine with a queue and nodes does, by the one whose time the test moves.

#include <doctest/doctest.h>

#include "fake_subject.h"

namespace muster::contract {
namespace {

using namespace std::chrono_literals;
using engine::Event;
using Manner = Subject::Manner;

TEST_CASE("contract: with a queue, a host waits, says for what, and is started") {
  FakeSubject subject;
  subject.cluster().queues = true;
  CHECK(subject.engine().schedules());
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    const Event queued = co_await next(*run);
    CHECK(queued.kind == Event::Kind::queued);
    CHECK(queued.text == "Resources");
    CHECK(queued.node.empty());
    const RunPtr other = co_await attach(subject);
    const Event again = co_await next(*other);
    CHECK(again.kind == Event::Kind::queued);
    subject.job().host("algo-1").waits("Priority").starts("node-7");
    const Event waits = co_await next(*run);
    CHECK(waits.text == "Priority");
    const Event started = co_await next(*run);
    CHECK(started.node == "node-7");
    CHECK(started.address == "10.0.0.1");
  });
}

TEST_CASE("contract: with a queue, a stop takes a host out of it") {
  FakeSubject subject;
  subject.cluster().queues = true;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await next(*run);
    run->stop("algo-1", 60s);
    const Event ended = co_await next(*run);
    CHECK(ended.kind == Event::Kind::ended);
    CHECK(!ended.outcome.success());
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
  });
}

TEST_CASE("contract: the grace of a stop is the time that passes before the kill") {
  FakeSubject subject;
  subject.manner(Manner::stubborn);
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await subject.ready("algo-1");
    run->stop("algo-1", 30s);
    subject.cluster().pass(29s);
    CHECK(!subject.job().host("algo-1").over());
    subject.cluster().pass(1s);
    const Event ended = co_await next_end(*run);
    CHECK(ended.outcome.success());
  });
}

TEST_CASE("contract: a node's health, a loss and a preemption have their reason and their time") {
  FakeSubject subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    co_await next(*run);
    co_await next(*run);
    subject.cluster().pass(60s);
    subject.job().host("algo-1").reports_health("node-1: fan").lost("node-1 does not answer", 30s);
    subject.job().host("algo-2").preempted("by job 7");
    const Event health = co_await next(*run);
    CHECK(health.text == "node-1: fan");
    const Event lost = co_await next(*run);
    CHECK(lost.kind == Event::Kind::lost);
    CHECK(lost.text == "node-1 does not answer");
    CHECK(lost.time == 31s);
    const Event preempted = co_await next(*run);
    CHECK(preempted.kind == Event::Kind::preempted);
    CHECK(preempted.time == 61s);
    const bool closed = co_await is_closed(*run);
    CHECK(closed);
    const Result<void> again = co_await run->replace(run->hosts());
    REQUIRE(again);
    const Event started = co_await next(*run);
    CHECK(started.attempt == 2);
  });
}

TEST_CASE("contract: a start takes its time, the name is in use meanwhile") {
  FakeSubject subject;
  subject.cluster().start_takes = 10s;
  subject.run([&]() -> loop::Task<> {
    subject.loop().post([&] {
      CHECK(subject.engine().list() == std::vector<std::string>{"demo"});
      subject.cluster().pass(10s);
    });
    const RunPtr run = co_await start(subject, 1);
    CHECK(run->whole());
  });
}

TEST_CASE("contract: a steward that knows more answers more") {
  FakeSubject subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    const job::HostStacks told{.host = "algo-1", .processes = {}, .trouble = ""};
    subject.job().host("algo-1").stacks = told;
    subject.job().host("algo-1").usage = engine::Usage{.memory_bytes = 5};
    const Result<engine::Answer> stacks = co_await run->ask("algo-1", engine::Question::stacks);
    REQUIRE(stacks);
    CHECK(std::get<job::HostStacks>(*stacks).host == "algo-1");
    const Result<engine::Answer> usage = co_await run->ask("algo-1", engine::Question::usage);
    REQUIRE(usage);
    CHECK(std::get<engine::Usage>(*usage).memory_bytes == 5);
  });
}

}  // namespace
}  // namespace muster::contract
