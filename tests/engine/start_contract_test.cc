// What every engine does: start, attach, list, release.

#include <doctest/doctest.h>

#include <set>

#include "engines.h"

namespace muster::contract {
namespace {

using engine::Event;
using Names = std::vector<std::string>;

TEST_CASE_TEMPLATE("contract: hosts come in the job's order, each is started once, with an address",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 3);
    CHECK(run->whole());
    CHECK(run->hosts() == Names{"algo-1", "algo-2", "algo-3"});
    std::set<std::string> addresses;
    for (const std::string& host : run->hosts()) {
      const Event event = co_await next_start(*run);
      CHECK(event.host == host);
      CHECK(event.attempt == 1);
      CHECK(!event.node.empty());
      CHECK(event.time > UnixMillis(0));
      addresses.insert(event.address);
    }
    CHECK(addresses.size() == 3);
    CHECK(!addresses.contains(""));
  });
}

TEST_CASE_TEMPLATE("contract: a name in use is refused, another is not", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    CHECK(subject.engine().list().empty());
    const RunPtr run = co_await start(subject, 1);
    const RunResult again = co_await subject.engine().start(demo(1));
    REQUIRE(!again);
    CHECK(again.error().code == Errc::invalid_input);
    CHECK(again.error().text.find("demo") != std::string::npos);
    job::Spec spec = demo(1);
    spec.name = "another";
    const RunResult other = co_await subject.engine().start(spec);
    REQUIRE(other);
    CHECK(subject.engine().list() == Names{"another", "demo"});
  });
}

TEST_CASE_TEMPLATE("contract: what is no job is refused, and leaves nothing", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    job::Spec name = demo(1);
    name.name = "not/a/name";
    const RunResult named = co_await subject.engine().start(name);
    REQUIRE(!named);
    CHECK(named.error().code == Errc::invalid_input);
    const RunResult none = co_await subject.engine().start(demo(0));
    REQUIRE(!none);
    CHECK(none.error().code == Errc::invalid_input);
    CHECK(subject.engine().list().empty());
  });
}

TEST_CASE_TEMPLATE("contract: a full disk stops a start, which leaves nothing", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    subject.full_disk(true);
    const RunResult refused = co_await subject.engine().start(demo(1));
    subject.full_disk(false);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::system);
    CHECK(subject.engine().list().empty());
    const RunPtr run = co_await start(subject, 1);
    co_await end_all(subject, *run);
  });
}

TEST_CASE_TEMPLATE("contract: what is not there cannot be attached", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunResult none = co_await subject.engine().attach("demo");
    REQUIRE(!none);
    CHECK(none.error().code == Errc::not_found);
  });
}

TEST_CASE_TEMPLATE("contract: hosts outlive their engine, and are found again where they were",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 2);
    const Event first = co_await next_start(*run);
    subject.writes("algo-1", "one");
    subject.writes("algo-2", "two");
    run.reset();
    subject.restart();
    CHECK(subject.engine().list() == Names{"demo"});
    run = co_await attach(subject);
    CHECK(run->whole());
    CHECK(run->hosts() == Names{"algo-1", "algo-2"});
    const Event again = co_await next_start(*run);
    CHECK(again.host == first.host);
    CHECK(again.address == first.address);
    const std::string two = co_await journal_of(*run, "algo-2", "two;");
    CHECK(two == "two;");
    co_await next_start(*run);
    subject.ends("algo-2", 0);
    const Event ended = co_await next(*run);
    CHECK(ended.kind == Event::Kind::ended);
    CHECK(ended.host == "algo-2");
  });
}

TEST_CASE_TEMPLATE("contract: hosts that ended while no engine was there are told, once", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 2);
    for (const char* host : {"algo-1", "algo-2"}) subject.writes(host, "last words");
    co_await end_all(subject, *run);
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    CHECK(journal(*run, "algo-1") == "last words;");
    Names told;
    for (int i = 0; i < 4; ++i) {
      const Event event = co_await next(*run);
      told.push_back(event.host + (engine::is_end(event.kind) ? " over" : " started"));
    }
    CHECK(told == Names{"algo-1 started", "algo-1 over", "algo-2 started", "algo-2 over"});
    const bool closed = co_await is_closed(*run);
    CHECK(closed);
  });
}

TEST_CASE_TEMPLATE("contract: two who follow a job both hear all of it", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    subject.writes("algo-1", "begun");
    const RunPtr other = co_await attach(subject);
    co_await end_all(subject, *run);
    const Event heard = co_await next_end(*other);
    CHECK(heard.host == "algo-1");
    CHECK(journal(*run, "algo-1") == journal(*other, "algo-1"));
  });
}

TEST_CASE_TEMPLATE("contract: a start that was cut short is seen, taken away, and done again",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    subject.cut_short(demo(2));
    CHECK(subject.engine().list() == Names{"demo"});
    const RunResult refused = co_await subject.engine().start(demo(2));
    CHECK(!refused);
    RunPtr run = co_await attach(subject);
    CHECK(!run->whole());
    for (const std::string& host : run->hosts()) run->destroy(host);
    bool closed = false;
    while (!closed) closed = co_await is_closed(*run);
    const Result<std::string> released = co_await run->release(false);
    REQUIRE_MESSAGE(released, released.error().text);
    CHECK(subject.engine().list().empty());
    run = co_await start(subject, 2);
    CHECK(run->whole());
  });
}

TEST_CASE_TEMPLATE("contract: release takes all away, and may come twice", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 2);
    subject.writes("algo-1", "of the first");
    co_await end_all(subject, *run);
    const Result<std::string> released = co_await run->release(false);
    REQUIRE_MESSAGE(released, released.error().text);
    CHECK(*released == "");
    CHECK(subject.engine().list().empty());
    const Result<std::string> again = co_await run->release(false);
    CHECK(again);
    const RunResult none = co_await subject.engine().attach("demo");
    CHECK(!none);
    run = co_await start(subject, 1);
    CHECK(journal(*run, "algo-1") == "");
  });
}

TEST_CASE_TEMPLATE("contract: while a host lives nothing is released", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.ends("algo-1", 0);
    co_await next_end(*run);
    const Result<std::string> refused = co_await run->release(false);
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::denied);
    subject.writes("algo-2", "goes on");
    const std::string second = co_await journal_of(*run, "algo-2", "goes on;");
    CHECK(second == "goes on;");
    subject.ends("algo-2", 0);
    co_await next_end(*run);
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
  });
}

TEST_CASE_TEMPLATE("contract: what is kept can be found, and be released later", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 1);
    subject.writes("algo-1", "kept");
    co_await end_all(subject, *run);
    const Result<std::string> kept = co_await run->release(true);
    REQUIRE(kept);
    CHECK(kept->find("demo") != std::string::npos);
    CHECK(subject.engine().list() == Names{"demo"});
    const RunResult refused = co_await subject.engine().start(demo(1));
    REQUIRE(!refused);
    CHECK(refused.error().code == Errc::invalid_input);
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    CHECK(journal(*run, "algo-1") == "kept;");
    const Event over = co_await next_end(*run);
    CHECK(over.host == "algo-1");
    const Result<std::string> released = co_await run->release(false);
    REQUIRE_MESSAGE(released, released.error().text);
    CHECK(subject.engine().list().empty());
  });
}

TEST_CASE_TEMPLATE("contract: a job that failed is released like any other", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.ends("algo-1", 1);
    run->destroy("algo-2");
    co_await next_end(*run);
    co_await next_end(*run);
    const Result<std::string> released = co_await run->release(false);
    REQUIRE_MESSAGE(released, released.error().text);
    CHECK(subject.engine().list().empty());
  });
}

TEST_CASE_TEMPLATE("contract: a job that failed can be kept", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    subject.ends("algo-1", 1);
    co_await next_end(*run);
    const Result<std::string> kept = co_await run->release(true);
    REQUIRE(kept);
    CHECK(subject.engine().list() == Names{"demo"});
  });
}

}  // namespace
}  // namespace muster::contract
