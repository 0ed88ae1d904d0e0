// What every engine does of a job that may start again: losses, and attempts after them.

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>

#include "base/fd.h"
#include "engines.h"

namespace muster::contract {
namespace {

using namespace std::chrono_literals;
using engine::Event;

/// A job of two hosts that may lose them.
loop::Task<RunPtr> start_two(Subject& subject) {
  job::Spec spec = demo(2);
  spec.spares = 1;
  spec.retries = 3;
  RunResult run = co_await subject.engine().start(spec);
  if (!run) FAIL(run.error().text);
  for (const std::string& host : (*run)->hosts()) {
    co_await subject.ready(host);
    subject.writes(host, "of attempt 1");
  }
  co_return *std::move(run);
}

/// Has algo-2 lost, and algo-1 end for it.
loop::Task<> lose_one(Subject& subject, engine::Run& run) {
  subject.kills("algo-2");
  const Event lost = co_await next_end(run);
  CHECK(lost.kind == Event::Kind::lost);
  CHECK(lost.host == "algo-2");
  CHECK(lost.text == "its steward was killed");
  subject.ends("algo-1", 0);
  const Event other = co_await next_end(run);
  CHECK(other.kind == Event::Kind::ended);
  CHECK(other.host == "algo-1");
}

loop::Task<> start_again(Subject& subject, engine::Run& run) {
  const Result<void> again = co_await run.replace(run.hosts());
  if (!again) FAIL(again.error().text);
  subject.begins_anew();
}

/// The next `started` of each host, by its name.
loop::Task<std::map<std::string, int>> attempts(engine::Run& run) {
  std::map<std::string, int> numbers;
  while (numbers.size() < run.hosts().size()) {
    const Event event = co_await next(run);
    REQUIRE(!engine::is_end(event.kind));
    if (event.kind == Event::Kind::started) numbers[event.host] = event.attempt;
  }
  co_return numbers;
}

const std::map<std::string, int> both_at_2 = {{"algo-1", 2}, {"algo-2", 2}};

TEST_CASE_TEMPLATE("contract: a host whose steward is killed is lost, and all start again", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start_two(subject);
    const std::map<std::string, int> first = co_await attempts(*run);
    CHECK(first.at("algo-2") == 1);
    co_await lose_one(subject, *run);
    const bool closed = co_await is_closed(*run);
    CHECK(closed);
    co_await start_again(subject, *run);
    CHECK(run->hosts() == job::host_names(2));
    const std::map<std::string, int> second = co_await attempts(*run);
    CHECK(second == both_at_2);
    for (const std::string& host : run->hosts()) {
      CHECK(journal(*run, host) == "");
      subject.writes(host, "of attempt 2");
      const std::string written = co_await journal_of(*run, host, "of attempt 2;");
      CHECK(written == "of attempt 2;");
    }
    co_await end_all(subject, *run);
    CHECK(journal(*run, "algo-2") == "of attempt 2;");
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
  });
}

TEST_CASE_TEMPLATE("contract: who waits for a journal hears of the next attempt's records", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start_two(subject);
    co_await lose_one(subject, *run);
    co_await start_again(subject, *run);
    subject.loop().post([&] { subject.writes("algo-2", "late"); });
    while (journal(*run, "algo-2").empty()) {
      const bool grown = co_await run->grown();
      REQUIRE(grown);
    }
    co_await end_all(subject, *run);
  });
}

TEST_CASE_TEMPLATE("contract: what hosts left in an earlier attempt is no result", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start_two(subject);
    for (const std::string& host : run->hosts()) subject.leaves(host, "model/first", "1");
    co_await lose_one(subject, *run);
    co_await start_again(subject, *run);
    co_await subject.ready("algo-1");
    subject.leaves("algo-1", "model/second", "2");
    co_await end_all(subject, *run);
    const Result<std::vector<engine::HostResult>> results = co_await run->results();
    REQUIRE(results);
    REQUIRE(results->size() == 2);
    CHECK(read_file(results->front().path + "/model/second").value_or("") == "2");
    for (const engine::HostResult& result : *results)
      CHECK(::access((result.path + "/model/first").c_str(), F_OK) != 0);
  });
}

TEST_CASE_TEMPLATE("contract: who attaches finds the latest attempt and what came before", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start_two(subject);
    CHECK(run->tally() == engine::Tally{});
    co_await lose_one(subject, *run);
    run->set_tally({.lost = 1, .idle = 2});
    co_await start_again(subject, *run);
    for (const std::string& host : run->hosts()) {
      co_await subject.ready(host);
      subject.writes(host, "of attempt 2");
    }
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    CHECK(run->whole());
    CHECK(run->tally() == engine::Tally{.lost = 1, .idle = 2});
    const std::map<std::string, int> found = co_await attempts(*run);
    CHECK(found == both_at_2);
    const std::string written = co_await journal_of(*run, "algo-1", "of attempt 2;");
    CHECK(written == "of attempt 2;");
    co_await end_all(subject, *run);
  });
}

TEST_CASE_TEMPLATE("contract: a steward that we destroy has ended, and is not lost", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.manner(Subject::Manner::deaf);
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start_two(subject);
    run->kill("algo-2");
    run->destroy("algo-2");
    const Event end = co_await next_end(*run);
    CHECK(end.host == "algo-2");
    CHECK(end.kind == Event::Kind::ended);
    subject.ends("algo-1", 0);
    co_await next_end(*run);
  });
}

}  // namespace
}  // namespace muster::contract
