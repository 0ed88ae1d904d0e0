#include "subject.h"

#include <doctest/doctest.h>

namespace muster::contract {

job::Spec demo(int hosts) {
  job::Spec spec;
  spec.name = "demo";
  spec.instance_count = hosts;
  spec.network = job::Network::nat;
  return spec;
}

loop::Task<RunPtr> start(Subject& subject, int hosts) {
  RunResult run = co_await subject.engine().start(demo(hosts));
  if (!run) FAIL(run.error().text);
  REQUIRE(run);
  co_return *std::move(run);
}

loop::Task<RunPtr> attach(Subject& subject) {
  RunResult run = co_await subject.engine().attach("demo");
  REQUIRE(run);
  co_return *std::move(run);
}

loop::Task<engine::Event> next(engine::Run& run) {
  Result<engine::Event> event = co_await run.next_event();
  REQUIRE(event);
  co_return *std::move(event);
}

loop::Task<engine::Event> next_start(engine::Run& run) {
  while (true) {
    engine::Event event = co_await next(run);
    REQUIRE(!engine::is_end(event.kind));
    if (event.kind == engine::Event::Kind::started) co_return event;
  }
}

loop::Task<engine::Event> next_end(engine::Run& run) {
  while (true) {
    engine::Event event = co_await next(run);
    if (engine::is_end(event.kind)) co_return event;
  }
}

loop::Task<> end_all(Subject& subject, engine::Run& run) {
  for (const std::string& host : run.hosts()) subject.ends(host, 0);
  for (std::size_t i = 0; i < run.hosts().size(); ++i) co_await next_end(run);
}

loop::Task<bool> is_closed(engine::Run& run) {
  const Result<engine::Event> event = co_await run.next_event();
  co_return !event && event.error().code == Errc::closed;
}

std::string journal(engine::Run& run, const std::string& host, std::uint64_t from) {
  std::string text;
  while (true) {
    const Result<engine::Records> got = run.records(host, from);
    REQUIRE(got);
    for (const job::Record& record : got->records) {
      CHECK(record.seq == from++);
      text += record.payload + ";";
    }
    if (!got->more) return text;
  }
}

loop::Task<std::string> journal_of(engine::Run& run, std::string host, std::string want,
                                   std::uint64_t from) {
  std::string text = journal(run, host, from);
  while (text.size() < want.size()) {
    const bool grown = co_await run.grown();
    REQUIRE(grown);
    text = journal(run, host, from);
  }
  co_return text;
}

}  // namespace muster::contract
