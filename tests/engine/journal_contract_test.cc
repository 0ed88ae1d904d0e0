// What every engine does: journals by number, results, uploads, questions.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/fd.h"
#include "engines.h"
#include "net/loop/tasks.h"

namespace muster::contract {
namespace {

using engine::Event;

TEST_CASE_TEMPLATE("contract: a journal that has not begun has no records, which is no error",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    CHECK(journal(*run, "algo-1") == "");
    CHECK(journal(*run, "algo-1", 7) == "");
  });
}

TEST_CASE_TEMPLATE("contract: records come as the journal grows, each when it was told of", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    std::uint64_t from = 1;
    for (const char* text : {"one", "two", "three"}) {
      subject.writes("algo-1", text);
      std::string got;
      while (got.empty()) {
        const bool grown = co_await run->grown();
        REQUIRE(grown);
        got = journal(*run, "algo-1", from);
      }
      CHECK(got == std::string(text) + ";");
      ++from;
    }
  });
}

TEST_CASE_TEMPLATE("contract: who waits for a journal to grow is woken by it", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.loop().post([&] { subject.writes("algo-2", "late"); });
    while (journal(*run, "algo-2").empty()) {
      const bool grown = co_await run->grown();
      REQUIRE(grown);
    }
    CHECK(journal(*run, "algo-1") == "");
  });
}

TEST_CASE_TEMPLATE("contract: a journal is read from any number, behind, ahead and again", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    for (int i = 1; i <= 9; ++i) subject.writes("algo-1", std::to_string(i));
    co_await journal_of(*run, "algo-1", "1;2;3;4;5;6;7;8;9;");
    struct {
      std::uint64_t from;
      const char* want;
    } const cases[] = {{1, "1;2;3;4;5;6;7;8;9;"}, {9, "9;"}, {10, ""},
                       {5, "5;6;7;8;9;"},         {99, ""},  {9, "9;"},
                       {2, "2;3;4;5;6;7;8;9;"}};
    for (const auto& c : cases) {
      CAPTURE(c.from);
      CHECK(journal(*run, "algo-1", c.from) == c.want);
    }
    subject.writes("algo-1", "10");
    const std::string tenth = co_await journal_of(*run, "algo-1", "10;", 10);
    CHECK(tenth == "10;");
  });
}

TEST_CASE_TEMPLATE("contract: a long journal comes in stretches, none of it lost", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    const std::string text(200'000, 'x');
    for (int i = 0; i < 20; ++i) subject.writes("algo-1", text);
    co_await journal_of(*run, "algo-1", text + ";", 20);
    const Result<engine::Records> first = run->records("algo-1", 1);
    REQUIRE(first);
    CHECK(first->more);
    CHECK(first->records.size() < 20);
    CHECK(journal(*run, "algo-1").size() == 20 * (text.size() + 1));
    CHECK(journal(*run, "algo-1", 20).size() == text.size() + 1);
  });
}

TEST_CASE_TEMPLATE("contract: every host has a journal of its own; a stranger has none", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.writes("algo-1", "mine");
    subject.writes("algo-2", "yours");
    const std::string first = co_await journal_of(*run, "algo-1", "mine;");
    CHECK(first == "mine;");
    const std::string second = co_await journal_of(*run, "algo-2", "yours;");
    CHECK(second == "yours;");
    const Result<engine::Records> none = run->records("algo-3", 1);
    REQUIRE(!none);
    CHECK(none.error().code == Errc::not_found);
  });
}

TEST_CASE_TEMPLATE("contract: when a host's end is told, all that it wrote can be read", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    for (int i = 0; i < 100; ++i) subject.writes("algo-1", "x");
    subject.ends("algo-1", 0);
    co_await next_end(*run);
    CHECK(journal(*run, "algo-1").size() == 200);
    CHECK(journal(*run, "algo-1", 100) == "x;");
  });
}

TEST_CASE_TEMPLATE("contract: a journal's file holds the host's records", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    const std::string path = subject.engine().journal_file("demo", "algo-2");
    if (path.empty()) co_return;  // An engine in memory.
    for (const char* text : {"one", "two"}) subject.writes("algo-2", text);
    co_await end_all(subject, *run);
    job::JournalReader reader;
    std::string texts;
    reader.visit(read_file(path).value_or(""), [&](const job::Record& record) {
      texts += record.payload + ";";
      return true;
    });
    CHECK(texts == journal(*run, "algo-2"));
    CHECK(texts.starts_with("one;two;"));
  });
}

TEST_CASE_TEMPLATE("contract: half a record at a journal's end is passed over", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    subject.writes("algo-1", "whole");
    subject.tears("algo-1");
    subject.ends("algo-1", 0);
    co_await next_end(*run);
    CHECK(journal(*run, "algo-1") == "whole;");
    CHECK(journal(*run, "algo-1", 2) == "");
  });
}

TEST_CASE_TEMPLATE("contract: damage is an error behind what can be read", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    subject.writes("algo-1", "good");
    subject.damages("algo-1");
    Result<engine::Records> second = run->records("algo-1", 2);
    while (second) {
      const bool grown = co_await run->grown();
      REQUIRE(grown);
      second = run->records("algo-1", 2);
    }
    CHECK(second.error().code == Errc::protocol);
    const Result<engine::Records> first = run->records("algo-1", 1);
    REQUIRE(first);
    CHECK(first->records.size() == 1);
    CHECK(first->more);  // Otherwise there would be no further read.
  });
}

TEST_CASE_TEMPLATE("contract: who waits for a journal hears when the run is gone", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 1);
    loop::Event heard(subject.loop());
    std::optional<bool> grown;
    const auto wait = [](engine::Run& on, std::optional<bool>& answer,
                         loop::Event& tell) -> loop::Task<> {
      answer = co_await on.grown();
      tell.notify();
    };
    loop::Tasks tasks(subject.loop());
    tasks.start(wait(*run, grown, heard));
    subject.loop().post([&] { run.reset(); });
    while (!grown) co_await heard.wait();
    CHECK(!*grown);
  });
}

TEST_CASE_TEMPLATE("contract: results are handed over, for good", Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    subject.leaves("algo-1", "model/weights", "w1");
    subject.leaves("algo-2", "output/data/log", "l2");
    co_await end_all(subject, *run);
    const Result<std::vector<engine::HostResult>> results = co_await run->results();
    REQUIRE(results);
    REQUIRE(results->size() == 2);
    CHECK((*results)[0].host == "algo-1");
    CHECK(read_file((*results)[0].path + "/model/weights").value_or("") == "w1");
    CHECK(read_file((*results)[1].path + "/output/data/log").value_or("") == "l2");
    const std::string moved = (*results)[0].path + "/moved";
    CHECK(::rename(((*results)[0].path + "/model").c_str(), moved.c_str()) == 0);
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
    CHECK(!read_file((*results)[1].path + "/output/data/log"));
  });
}

TEST_CASE_TEMPLATE("contract: hosts that left nothing have results all the same", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    co_await end_all(subject, *run);
    const Result<std::vector<engine::HostResult>> results = co_await run->results();
    REQUIRE(results);
    REQUIRE(results->size() == 2);
    struct stat status {};
    CHECK(::stat(((*results)[0].path + "/model").c_str(), &status) != 0);
  });
}

TEST_CASE_TEMPLATE("contract: results are stored once, whoever asks for it again", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 1);
    co_await end_all(subject, *run);
    CHECK(!run->uploaded());
    const Result<std::string> stored = co_await run->upload(true);
    REQUIRE(stored);
    CHECK(run->uploaded());
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    CHECK(run->uploaded());
    const Result<std::string> again = co_await run->upload(false);
    REQUIRE(again);
    CHECK(*again == *stored);
  });
}

TEST_CASE_TEMPLATE("contract: what cannot be stored is told, and not taken for stored", Engine,
                   ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await end_all(subject, *run);
    subject.upload_fails();
    const Result<std::string> stored = co_await run->upload(true);
    REQUIRE(!stored);
    CHECK(stored.error().text == "s3://b/x: no");
    CHECK(!run->uploaded());
    const Result<std::string> kept = co_await run->release(true);
    CHECK(kept);
  });
}

TEST_CASE_TEMPLATE("contract: a question has an answer of its kind, or an error that says why not",
                   Engine, ALL_ENGINES) {
  Engine subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await subject.ready("algo-1");
    const Result<engine::Answer> usage = co_await run->ask("algo-1", engine::Question::usage);
    if (usage) CHECK(std::holds_alternative<engine::Usage>(*usage));
    if (!usage) CHECK(!usage.error().text.empty());
    const Result<engine::Answer> alive = co_await run->ask("algo-1", engine::Question::alive);
    if (alive) CHECK(std::holds_alternative<engine::Alive>(*alive));
    if (!alive) CHECK(!alive.error().text.empty());
    const Result<engine::Answer> stacks = co_await run->ask("algo-1", engine::Question::stacks);
    REQUIRE(!stacks);  // The stand-ins for stewards have no processes to tell of.
    CHECK(!stacks.error().text.empty());
    co_await end_all(subject, *run);
    const Result<engine::Answer> late = co_await run->ask("algo-1", engine::Question::usage);
    REQUIRE(!late);
    CHECK(late.error().code == Errc::closed);
  });
}

}  // namespace
}  // namespace muster::contract
