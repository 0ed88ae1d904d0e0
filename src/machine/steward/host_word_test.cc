#include "machine/steward/host_word.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "job/outcome/lines.h"
#include "job/wire/journal.h"
#include "job/wire/mark.h"
#include "job/wire/message.h"

namespace muster::steward {
namespace {

using job::Message;

Frame frame(Message kind, std::string payload) {
  return {job::type_of(kind), std::move(payload)};
}

HostWord word() {
  return {"algo-2", {"algo-1", "algo-2"}};
}

Json verdict(const char* host, const char* process) {
  return {{"outcome", {{"kind", "exited"}, {"number", 3}}}, {"host", host}, {"process", process}};
}

TEST_CASE("host word: train's messages are kept") {
  const job::Lines lines{3, job::Stream::out, false, "a\nb\n"};
  CHECK(**word().taken(frame(Message::lines, job::encode(lines))) == job::encode(lines));
  for (const Message kind : {Message::outcome, Message::verdict}) {
    const std::string kept = **word().taken(frame(kind, to_text(verdict("algo-2", "rank 3"))));
    CHECK(job::verdict_from(*parse_json(kept))->process == "rank 3");
  }
  CHECK(**word().taken(frame(Message::verdict, to_text(verdict("algo-1", "rank 0")))) != "");
  CHECK(**word().taken(frame(Message::verdict, to_text(verdict("", "")))) != "");
}

TEST_CASE("host word: a moment of the host's own is kept, once") {
  HostWord word = steward::word();
  const std::string begun = job::encode(job::Moment{job::Mark::begun, 5});
  CHECK(*word.taken(frame(Message::mark, begun)) == job::encode(job::Moment{job::Mark::begun}));
  CHECK(*word.taken(frame(Message::mark, begun)) == std::nullopt);
  CHECK(*word.taken(frame(Message::mark, job::encode(job::Moment{job::Mark::rank}))));
  const std::string root = job::encode(job::Moment{job::Mark::root});
  CHECK(word.taken(frame(Message::mark, root)).error().code == Errc::protocol);
  CHECK(word.taken(frame(Message::mark, "{}")).error().code == Errc::protocol);
}

TEST_CASE("host word: the leader's records of the hosts' health are kept, of each host one") {
  HostWord leader("algo-1", {"algo-1", "algo-2"});
  const std::string told = R"({"host":"algo-2","record":{"time":"t"}})";
  CHECK(**leader.taken(frame(Message::preflight_facts, told)) == told);
  CHECK(*leader.taken(frame(Message::preflight_facts, told)) == std::nullopt);
  for (const std::string& wrong :
       {std::string("[]"), std::string(R"({"host":"algo-3","record":{}})"),
        std::string(R"({"host":"algo-1","record":[]})"), std::string(R"({"record":{}})"),
        R"({"host":"algo-1","record":{"a":")" + std::string(70000, 'x') + "\"}}"})
    CHECK(leader.taken(frame(Message::preflight_facts, wrong)).error().code == Errc::protocol);
  CHECK(word().taken(frame(Message::preflight_facts, told)).error().code == Errc::protocol);
}

TEST_CASE("host word: messages that only the steward may write are ignored or refused") {
  Json end = verdict("algo-2", "host");
  end["stopped"] = true;
  struct {
    Message kind;
    std::string payload;
  } const cases[] = {
      {Message::phase, R"({"phase":"Completed","message":""})"},
      {Message::log, R"({"level":"error","text":"the machine burns"})"},
      {Message::signal, R"({"grace_ms":0})"},
      {Message::outcome, to_text(end)},
      {Message::outcome, to_text(verdict("algo-1", "rank 0"))},
      {Message::outcome, to_text(verdict("algo-2\n", "rank 0"))},
      {Message::outcome, "{}"},
      {Message::outcome, "[]"},
      {Message::outcome, "\xff"},
      {Message::outcome, std::string(100'000, '[')},
      {Message::outcome, R"({"outcome":{"kind":"exited","number":1e999}})"},
      {Message::verdict, to_text(verdict("algo-9", "rank 0"))},
      {Message::verdict, R"({"outcome":{"kind":"resurrected"}})"},
      {Message::lines, ""},
      {Message::lines, job::encode({256'000, job::Stream::out, false, "x\n"})},
      {Message::lines, job::encode({-7, job::Stream::out, false, "x\n"})},
      {Message::lines, job::encode({0, job::Stream::out, true, "x\nalgo-1 | y"})},
      {Message::lines, job::encode({0, job::Stream::out, false, "x"})},
      {static_cast<Message>(255), "{}"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.payload.substr(0, 80));
    HostWord host = word();
    const Result<std::optional<std::string>> kept = host.taken(frame(one.kind, one.payload));
    CHECK((!kept || !*kept));
    if (!kept) CHECK(kept.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("host word: a flood of outcomes ends") {
  Json long_one = verdict("algo-2", "rank 0");
  long_one["last_lines"] = std::string(20'000, 'x') + "end";
  long_one["command"] = std::string(40'000, 'y');
  long_one["failure_file"] = std::string(40'000, 'f');
  long_one["error"] = std::string(40'000, 'e');
  long_one["unknown"] = "not kept";
  const Frame one = frame(Message::outcome, to_text(long_one));
  HostWord host = word();
  std::size_t bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    const Result<std::optional<std::string>> kept = host.taken(one);
    if (!kept) break;
    REQUIRE((*kept)->size() < 100'000);
    REQUIRE((*kept)->find("unknown") == std::string::npos);
    REQUIRE((*kept)->find(std::string(4096, 'f')) != std::string::npos);
    REQUIRE((*kept)->find(std::string(4097, 'f')) == std::string::npos);
    REQUIRE((*kept)->find(std::string(1025, 'e')) == std::string::npos);
    REQUIRE((*kept)->find("xend") != std::string::npos);
    bytes += (*kept)->size();
  }
  CHECK(bytes <= HostWord::bytes_max);
  CHECK(bytes > HostWord::bytes_max - 100'000);
}

}  // namespace
}  // namespace muster::steward
