// What every engine does: events, stops, ends.

#include <doctest/doctest.h>

#include "engines.h"

namespace muster::contract {
namespace {

using namespace std::chrono_literals;
using engine::Event;
using job::Outcome;
using Manner = Subject::Manner;

TEST_CASE_TEMPLATE("contract: every end comes once, then the stream is closed for good", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 3);
    subject.ends("algo-3", 0);
    const Event third = co_await next_end(*run);
    CHECK(third.host == "algo-3");
    subject.ends("algo-1", 0);
    const Event first = co_await next_end(*run);
    CHECK(first.host == "algo-1");
    subject.ends("algo-2", 0);
    const Event second = co_await next_end(*run);
    CHECK(second.host == "algo-2");
    for (int i = 0; i < 2; ++i) {
      const bool closed = co_await is_closed(*run);
      CHECK(closed);
    }
  });
}

TEST_CASE_TEMPLATE("contract: who waits for an event gets it when it happens", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await next_start(*run);
    subject.loop().post([&] { subject.ends("algo-1", 0); });
    const Event ended = co_await next(*run);
    CHECK(ended.kind == Event::Kind::ended);
    CHECK(ended.outcome == Outcome::exited(0));
  });
}

TEST_CASE_TEMPLATE("contract: a steward that fails is told as it ended", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.ends("algo-1", 3);
    const Event failed = co_await next_end(*run);
    CHECK(failed.kind == Event::Kind::ended);
    CHECK(failed.outcome == Outcome::exited(3));
    subject.ends("algo-2", 0);
    const Event well = co_await next_end(*run);
    CHECK(well.outcome.success());
  });
}

TEST_CASE_TEMPLATE("contract: a stop ends the host that it is for, the others go on", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    co_await subject.ready("algo-1");
    run->stop("algo-1", 60s);
    const Event stopped = co_await next_end(*run);
    CHECK(stopped.host == "algo-1");
    CHECK(stopped.outcome.success());
    subject.writes("algo-2", "goes on");
    const std::string second = co_await journal_of(*run, "algo-2", "goes on;");
    CHECK(second == "goes on;");
    subject.ends("algo-2", 0);
    const Event other = co_await next_end(*run);
    CHECK(other.host == "algo-2");
  });
}

TEST_CASE_TEMPLATE("contract: a second stop is one too many, and does nothing", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await subject.ready("algo-1");
    run->stop("algo-1", 60s);
    run->stop("algo-1", 60s);
    co_await next_end(*run);
    run->stop("algo-1", 60s);
    run->kill("algo-1");
    run->destroy("algo-1");
    const bool closed = co_await is_closed(*run);
    CHECK(closed);
  });
}

TEST_CASE_TEMPLATE("contract: a stop before the host has done anything ends it", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    for (const std::string& host : run->hosts()) run->stop(host, 60s);
    co_await next_end(*run);
    co_await next_end(*run);
    const bool closed = co_await is_closed(*run);
    CHECK(closed);
  });
}

TEST_CASE_TEMPLATE("contract: a host that takes no stop is killed, and tells so", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.manner(Manner::stubborn);
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await subject.ready("algo-1");
    run->stop("algo-1", 60s);
    run->kill("algo-1");
    const Event killed = co_await next_end(*run);
    CHECK(killed.kind == Event::Kind::ended);
    CHECK(killed.outcome.success());  // The steward's: it did what it was asked to.
  });
}

TEST_CASE_TEMPLATE("contract: a steward that answers nobody is destroyed", Engine, ALL_ENGINES) {
  Engine subject;
  subject.manner(Manner::deaf);
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    for (const std::string& host : run->hosts()) co_await subject.ready(host);
    run->kill("algo-1");
    run->destroy("algo-1");
    run->destroy("algo-1");
    const Event first = co_await next_end(*run);
    CHECK(first.host == "algo-1");
    CHECK(first.outcome == Outcome::signaled(9));
    run->destroy("algo-2");
    const Event second = co_await next_end(*run);
    CHECK(second.host == "algo-2");
  });
}

TEST_CASE_TEMPLATE("contract: hosts that an earlier engine started are stopped and destroyed too",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 2);
    for (const std::string& host : run->hosts()) {
      co_await subject.ready(host);
      subject.writes(host, "begun");
    }
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    run->stop("algo-1", 60s);
    const Event stopped = co_await next_end(*run);
    CHECK(stopped.host == "algo-1");
    run->destroy("algo-2");
    const Event destroyed = co_await next_end(*run);
    CHECK(destroyed.host == "algo-2");
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
  });
}

TEST_CASE_TEMPLATE("contract: a run that goes ends no host", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 1);
    subject.writes("algo-1", "begun");
    run.reset();
    run = co_await attach(subject);
    co_await next_start(*run);
    subject.ends("algo-1", 0);
    const Event ended = co_await next(*run);
    CHECK(ended.kind == Event::Kind::ended);
  });
}

TEST_CASE_TEMPLATE("contract: a host that runs is not replaced", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    const Result<void> refused = co_await run->replace(run->hosts());
    REQUIRE(!refused);
    const Errc code = refused.error().code;
    CHECK((code == Errc::invalid_input || code == Errc::unsupported));
    co_await end_all(subject, *run);
  });
}

TEST_CASE_TEMPLATE("contract: a host that is over is started anew, or the engine says it cannot",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.writes("algo-1", "of attempt 1");
    subject.ends("algo-1", 1);
    co_await next_end(*run);
    const std::vector<std::string> hosts{"algo-1"};
    const Result<void> replaced = co_await run->replace(hosts);
    if (!replaced) {
      CHECK(replaced.error().code == Errc::unsupported);
      CHECK(journal(*run, "algo-1") == "of attempt 1;");
      co_return;
    }
    CHECK(journal(*run, "algo-1") == "");
    const Event started = co_await next_start(*run);
    CHECK(started.attempt == 2);
    subject.writes("algo-1", "of attempt 2");
    const std::string second = co_await journal_of(*run, "algo-1", "of attempt 2;");
    CHECK(second == "of attempt 2;");
    co_await end_all(subject, *run);
  });
}

}  // namespace
}  // namespace muster::contract
