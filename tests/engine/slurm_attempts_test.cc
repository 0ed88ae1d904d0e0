// Attempts of a job on a Slurm cluster whose engine is killed between two of them.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "engine/chapter.h"
#include "slurm_subject.h"

namespace muster::contract {
namespace {

constexpr std::string_view line = "attempt 1 ended; the lines below";

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

Json note_of(SlurmSubject& subject) {
  return *parse_json(*read_file(subject.job_folder() + "/attempt.json"));
}

void set_note(SlurmSubject& subject, const Json& note) {
  REQUIRE(write_file(subject.job_folder() + "/attempt.json", to_text(note), 0600));
}

TEST_CASE("slurm engine: nodes get the cluster's KillWait, or its default if it is unknown") {
  struct {
    const char* text;
    int want;
  } const cases[] = {{"KillWait                = 7 sec\n", 7000},
                     {"KillWait = forever\n", 30000},
                     {"KillWait = 1000000 sec\n", 86400000},
                     {"", 30000}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    SlurmSubject subject;
    subject.configured(c.text);
    subject.run([&]() -> loop::Task<> {
      const RunPtr run = co_await start(subject, 1);
      while (subject.order().empty()) co_await subject.loop().turn();
      CHECK((*parse_json(subject.order()))["kill_wait_ms"] == c.want);
      co_await end_all(subject, *run);
    });
  }
}

TEST_CASE("slurm engine: a node that never connects ends the wait, even without other events") {
  SlurmSubject subject;
  subject.cuts_off();
  subject.waits_for_nodes(std::chrono::milliseconds(50));
  subject.restart();
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    const engine::Event lost = co_await next_end(*run);
    CHECK(lost.kind == engine::Event::Kind::lost);
    CHECK(lost.text.find("no steward connected") != std::string::npos);
  });
}

TEST_CASE("slurm engine: a job whose next attempt is refused has no results, and is released") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 1);
    co_await end_all(subject, *run);
    subject.refuses_submissions();
    const Result<void> again = co_await run->replace(run->hosts());
    REQUIRE(!again);
    CHECK(again.error().text.find("Requested node configuration") != std::string::npos);
    const Result<std::vector<engine::HostResult>> results = co_await run->results();
    REQUIRE(!results);
    CHECK(results.error().code == Errc::closed);
    const Result<std::string> released = co_await run->release(false);
    CHECK(released);
  });
}

TEST_CASE(
    "slurm engine: a job that is stopped before it begins has left Slurm when it is released") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    const RunPtr run = co_await start(subject, 2);
    for (const std::string& host : run->hosts()) run->stop(host, std::chrono::seconds(60));
    const Result<std::string> released = co_await run->release(false);
    REQUIRE(released);
    CHECK(subject.cancelled() == "1\n");
  });
}

TEST_CASE("slurm engine: nodes that wait with unwanted results are given back") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    RunPtr run = co_await start(subject, 1);
    subject.cuts_off();
    co_await end_all(subject, *run);
    run.reset();
    subject.restart();
    run = co_await attach(subject);
    const std::string nonce = note_of(subject)["nonce"].get<std::string>();
    const Result<std::string> released = co_await run->release(false);
    REQUIRE(released);
    CHECK(subject.cancelled() == "--name=muster-demo-" + nonce + "\n");
  });
}

TEST_CASE("slurm engine: killed between two chapters of a journal, it writes one line there") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    const std::string journal = subject.job_folder() + "/algo-1/journal";
    {
      const RunPtr run = co_await start(subject, 1);
      subject.writes("algo-1", "one");
      co_await end_all(subject, *run);
    }
    // What an engine has done that is killed before it notes the next attempt.
    Json note = note_of(subject);
    const std::uint64_t whole = read_file(journal)->size();
    note["ended"] = Json{{"algo-1", whole}};
    set_note(subject, note);
    REQUIRE(engine::end_chapter(journal, 0, whole, 1, UnixMillis(1)));
    subject.restart();
    const RunPtr run = co_await attach(subject);
    const engine::Event ended = co_await next_end(*run);
    CHECK(ended.attempt == 1);
    const Result<void> again = co_await run->replace(run->hosts());
    REQUIRE(again);
    CHECK(count(*read_file(journal), line) == 1);
    const Json next = note_of(subject);
    CHECK(next["number"] == 2);
    CHECK(next["ended"].empty());
    CHECK(next["chapters"]["algo-1"] == read_file(journal)->size());
  });
}

TEST_CASE("slurm engine: killed before sbatch's answer, it submits a further attempt itself") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    {
      const RunPtr run = co_await start(subject, 1);
      subject.writes("algo-1", "one");
      co_await end_all(subject, *run);
      const Result<void> again = co_await run->replace(run->hosts());
      REQUIRE(again);
    }
    Json note = note_of(subject);
    note["slurm_id"] = "";
    set_note(subject, note);
    subject.forget_submissions();
    subject.restart();
    const RunPtr run = co_await attach(subject);
    CHECK(run->whole());
    const Json later = note_of(subject);
    CHECK(later["number"] == 2);
    CHECK(later["nonce"] != note["nonce"]);
    CHECK(later["slurm_id"] == "1");
    CHECK(count(*read_file(subject.job_folder() + "/algo-1/journal"), line) == 1);
    // Events of the first attempt are not reported for the second.
    const engine::Event first = co_await next(*run);
    CHECK(!engine::is_end(first.kind));
    co_await end_all(subject, *run);
  });
}

TEST_CASE("slurm engine: a later engine knows the facts that decide on further attempts") {
  SlurmSubject subject;
  subject.run([&]() -> loop::Task<> {
    std::string first_nonce;
    {
      const RunPtr run = co_await start(subject, 2);
      CHECK(run->tally() == engine::Tally{});
      first_nonce = note_of(subject)["nonce"].get<std::string>();
      co_await end_all(subject, *run);
      run->set_tally({.lost = 1, .idle = 2});
      const Result<void> again = co_await run->replace(run->hosts());
      REQUIRE(again);
    }
    Json note = note_of(subject);
    note["excluded"] = Json::array({"node9"});
    set_note(subject, note);
    subject.restart();
    CHECK(subject.fenced().empty());
    const RunPtr run = co_await attach(subject);
    CHECK(run->tally() == engine::Tally{.lost = 1, .idle = 2});
    CHECK(subject.fenced() == std::vector<std::string>{first_nonce});
    co_await end_all(subject, *run);
    const Result<void> again = co_await run->replace(run->hosts());
    REQUIRE(again);
    CHECK(note_of(subject)["excluded"] == Json::array({"node9"}));
    CHECK(note_of(subject)["fenced"].size() == 2);
  });
}

}  // namespace
}  // namespace muster::contract
