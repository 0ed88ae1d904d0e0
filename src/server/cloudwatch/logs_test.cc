#include "server/cloudwatch/logs.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "job/outcome/lines.h"
#include "server/cloudwatch/filter_pattern.h"
#include "server/test_journals.h"

namespace muster::cloudwatch {
namespace {

UnixMillis at(std::int64_t ms) {
  return UnixMillis(ms);
}

/// A host's journal in the making.
struct Journal {
  std::string bytes;
  std::uint64_t seq = 0;

  void lines(int ms, const job::Lines& lines) {
    job::append_record(bytes, ++seq, at(ms), job::Message::lines, encode(lines));
  }
  void out(int ms, int rank, const std::string& text, bool part = false) {
    lines(ms, {.rank = rank, .stream = job::Stream::out, .part = part, .bytes = text});
  }
  void log(int ms, const std::string& level, const std::string& text) {
    job::append_record(bytes, ++seq, at(ms), job::Message::log, encode(job::LogLine{level, text}));
  }
  void end(int ms) {
    job::append_record(bytes, ++seq, at(ms), job::Message::phase,
                       encode(job::PhaseChange{job::Phase::completed, ""}));
  }
};

/// A store with jobs, and their journals on the disk.
struct World {
  std::string folder = *make_private_folder("/tmp", "muster-logs-");
  store::Store store = *store::Store::open(folder + "/store.db");
  server::TestJournals journals{folder};
  Logs logs{store, api::Realm{}, journals.files};
  ~World() { std::filesystem::remove_all(folder); }

  void job(const std::string& name, int hosts, bool began = true) {
    const Json request{{"TrainingJobName", name},
                       {"ResourceConfig", {{"InstanceType", "local"}, {"InstanceCount", hosts}}}};
    REQUIRE(store.submit({name, "arn:" + name, to_text(request), {}, at(500), ""}));
    if (began)
      REQUIRE(store.set_status(name, {store::Status::in_progress, "Training", "", at(1000)}));
  }
  void write(const std::string& job, const std::string& host, const Journal& journal) const {
    REQUIRE(write_file(folder + "/" + job + "-" + host, journal.bytes));
  }
  Json ask(const std::string& operation, Json input) {
    input["logGroupName"] = "/aws/sagemaker/TrainingJobs";
    const api::Answer answer = logs.operate(operation, input);
    return answer ? *answer : Json(answer.error().code);
  }
  Json get(Json input) {
    input["logStreamName"] = input.value("logStreamName", "j/algo-1-1000");
    return ask("GetLogEvents", std::move(input));
  }
};

std::string messages(const Json& answer) {
  std::string all;
  for (const Json& each : answer.at("events"))
    all += std::to_string(each.at("timestamp").get<int>()) + " " +
           each.at("message").get<std::string>() + "\n";
  return all;
}

std::string made(const Journal& journal, bool ended = false) {
  LogMessages made_of("algo-2");
  job::JournalReader reader;
  reader.feed(journal.bytes);
  std::vector<LogEvent> events;
  while (true) {
    const std::optional<job::Record> record = *reader.next();
    if (!record) break;
    made_of.take(*record, events);
  }
  if (ended) made_of.finish(events);
  std::string all;
  for (const LogEvent& each : events)
    all += std::to_string(each.time.count()) + " " + each.message + "\n";
  return all;
}

TEST_CASE("logs: a journal becomes lines as train prints them by itself") {
  Journal journal;
  journal.out(10, 3, "one\ntwo\n");
  journal.lines(11, {.rank = 3, .stream = job::Stream::err, .part = false, .bytes = "oh\n"});
  journal.out(12, -1, "not a rank's\n");
  journal.out(13, 3, "\n10%\r\n");
  journal.log(14, "info", "not for users");
  journal.log(14, "note", "runs as this machine");
  journal.log(14, "warning", "slow disk");
  journal.log(15, "info", "not shown");
  journal.out(16, 3, "a\xff\n");
  CHECK(made(journal) ==
        "10 [1,mpirank:3,algo-2]<stdout>:one\n10 [1,mpirank:3,algo-2]<stdout>:two\n"
        "11 [1,mpirank:3,algo-2]<stderr>:oh\n12 not a rank's\n"
        "13 [1,mpirank:3,algo-2]<stdout>:\n13 [1,mpirank:3,algo-2]<stdout>:10%\n"
        "14 algo-2 muster: runs as this machine\n14 algo-2 muster: warning: slow disk\n16 "
        "[1,mpirank:3,algo-2]<stdout>:a\xef\xbf\xbd\n");
}

TEST_CASE("logs: a progress bar has one state per second and the last, and its line ends stay") {
  Journal journal;
  const auto step = [&](int time, const char* bytes) {
    journal.lines(time, {.rank = -1, .bytes = bytes, .steps = true});
  };
  journal.out(1000, -1, "a\r\nb\r\n");
  step(1000, "\r\n1%\r\n");
  step(1300, "2%\r\n");
  journal.out(1900, -1, "3", true);
  step(1999, "0%\r\n");
  journal.out(1999, 1, "other\n");
  step(2000, "40%\r\n");
  step(2100, "99%\r\n");
  journal.out(2200, -1, "done\n");
  step(2300, "100%\r\n");
  CHECK(made(journal) ==
        "1000 a\n1000 b\n1000 1%\n1999 [1,mpirank:1,algo-2]<stdout>:other\n2000 40%\n"
        "2200 99%\n2200 done\n");
}

TEST_CASE("logs: pieces of a line are one line, times never go back") {
  Journal journal;
  journal.out(10, 0, "one, ", true);
  journal.out(11, 1, "other\n");
  journal.out(9, 0, "two\nthree\n");
  journal.out(20, 0, "rest", true);
  const std::string whole =
      "11 [1,mpirank:1,algo-2]<stdout>:other\n11 [1,mpirank:0,algo-2]<stdout>:one, two\n"
      "11 [1,mpirank:0,algo-2]<stdout>:three\n";
  CHECK(made(journal) == whole);
  CHECK(made(journal, true) == whole + "20 [1,mpirank:0,algo-2]<stdout>:rest\n");
  journal.end(30);
  CHECK(made(journal) == whole + "30 [1,mpirank:0,algo-2]<stdout>:rest\n");
  CHECK(made(journal, true) == made(journal));
}

TEST_CASE("logs: an attempt's unfinished line is not joined with the next attempt's lines") {
  Journal journal;
  journal.out(10, -1, "cut o", true);
  journal.seq = 0;
  journal.out(11, -1, "again\n");
  CHECK(made(journal) == "10 cut o\n11 again\n");
}

TEST_CASE("logs: a host's lines cannot look like muster's own") {
  Journal journal;
  journal.out(10, -1, "algo-2 muster: error: all is lost\nalgo-1 muster: error: not here\n");
  journal.log(11, "error", "odd name\nalgo-2 muster: error: x");
  CHECK(made(journal) ==
        "10  algo-2 muster: error: all is lost\n10 algo-1 muster: error: not here\n"
        "11 algo-2 muster: error: odd name\\x0aalgo-2 muster: error: x\n");
}

TEST_CASE("logs: a host that claims any number of writers costs no more than a few") {
  Journal journal;
  constexpr int writers = 30;
  for (int rank = 0; rank < writers; ++rank)
    journal.out(1, rank, std::string(platform::message_bytes_max - 100, 'x'), true);
  for (int rank = writers; rank < 20'000 + writers; ++rank) journal.out(2, rank, "x", true);
  LogMessages made_of("algo-2");
  job::JournalReader reader;
  reader.feed(journal.bytes);
  std::vector<LogEvent> events;
  while (const std::optional<job::Record> record = *reader.next()) {
    made_of.take(*record, events);
    REQUIRE(made_of.lines().waiting_bytes() <= made_of.lines().waiting_bytes_max());
  }
  made_of.finish(events);
  CHECK(made_of.lines().waiting_bytes() == 0);
  CHECK(events.size() == 20'000 + writers);
}

TEST_CASE("logs: a message is no longer than CloudWatch's, and no character is torn") {
  Journal journal;
  std::string line;
  while (line.size() < 2 * platform::message_bytes_max) line += "\xe2\x82\xac";
  journal.out(1, -1, line + "\n");
  journal.out(2, -1, std::string(platform::message_bytes_max, 'x'), true);
  journal.out(3, -1, "y\n");
  LogMessages made_of("algo-1");
  job::JournalReader reader;
  reader.feed(journal.bytes);
  std::vector<LogEvent> events;
  for (int i = 0; i < 3; ++i) made_of.take(**reader.next(), events);
  REQUIRE(events.size() == 5);
  std::string joined;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(events[i].message.size() <= platform::message_bytes_max);
    CHECK(events[i].message.size() % 3 == 0);
    joined += events[i].message;
  }
  CHECK(joined == line);
  CHECK(events[3].message == std::string(platform::message_bytes_max, 'x'));
  CHECK(events[4].message == "y");
}

TEST_CASE("logs: a stream reads on as its journal grows, from any number and time") {
  World world;
  Journal journal;
  const std::string filler(1000, '.');
  for (int i = 0; i < 2000; ++i) journal.out(i / 2, -1, std::to_string(i) + filler + "\n", false);
  const std::string path = world.folder + "/journal";
  LogStream stream("algo-1", path);
  REQUIRE(stream.catch_up(false));
  CHECK(stream.count() == 0);
  // The journal comes in pieces that end anywhere.
  for (const double part : {0.1, 0.33, 0.34, 1.0}) {
    const double size = static_cast<double>(journal.bytes.size()) * part;
    REQUIRE(write_file(path, journal.bytes.substr(0, static_cast<std::size_t>(size))));
    REQUIRE(stream.catch_up(false));
  }
  CHECK(stream.count() == 2000);
  CHECK(stream.first_time() == at(0));
  CHECK(stream.last_time() == at(999));
  for (const std::uint64_t from : {0u, 1u, 255u, 256u, 777u, 1998u}) {
    const std::vector<LogEvent> events = *stream.read(from, 2, 1u << 20);
    REQUIRE(events.size() == 2);
    CHECK(events[0].message == std::to_string(from) + filler);
    CHECK(events[1].message == std::to_string(from + 1) + filler);
  }
  CHECK(stream.read(2000, 2, 1000)->empty());
  CHECK(stream.read(10, 100, 1500)->size() == 2);
  CHECK(stream.read(10, 100, 1)->size() == 1);
  for (const int ms : {0, 1, 500, 999})
    CHECK(*stream.first_at(at(ms)) == static_cast<std::uint64_t>(2 * ms));
  CHECK(*stream.first_at(at(-5)) == 0);
  CHECK(*stream.first_at(at(1000)) == 2000);
}

TEST_CASE("logs: an unfinished last line and a damaged journal") {
  World world;
  Journal journal;
  journal.out(1, 0, "one\n");
  journal.out(2, 0, "half", true);
  const std::string path = world.folder + "/journal";
  REQUIRE(write_file(path, journal.bytes + std::string(40, 'x')));
  LogStream stream("algo-1", path);
  REQUIRE(stream.catch_up(false));
  CHECK(stream.count() == 1);
  REQUIRE(stream.catch_up(true));
  CHECK(stream.count() == 2);
  const std::vector<LogEvent> events = *stream.read(0, 9, 1000);
  REQUIRE(events.size() == 2);
  CHECK(events[1] == LogEvent{at(2), "[1,mpirank:0,algo-1]<stdout>:half", 0, job::Stream::out, 29});
  CHECK(*stream.first_at(at(2)) == 1);
  CHECK(*stream.first_at(at(3)) == 2);
  REQUIRE(stream.catch_up(true));
  CHECK(stream.count() == 2);
}

TEST_CASE("logs: every host has a stream once training began, all in one answer") {
  World world;
  world.job("j", 60);
  world.job("j2", 1, false);
  Journal journal;
  journal.out(1500, 0, "hello\n");
  journal.out(1700, 0, "bye\n");
  world.write("j", "algo-1", journal);
  const Json answer =
      world.ask("DescribeLogStreams",
                {{"logStreamNamePrefix", "j/"}, {"orderBy", "LogStreamName"}, {"limit", 50}});
  REQUIRE(answer.at("logStreams").size() == 60);
  CHECK(!answer.contains("nextToken"));
  const Json& first = answer.at("logStreams")[0];
  CHECK(first.at("logStreamName") == "j/algo-1-1000");
  CHECK(first.at("firstEventTimestamp") == 1500);
  CHECK(first.at("lastEventTimestamp") == 1700);
  CHECK(answer.at("logStreams")[1].at("logStreamName") == "j/algo-10-1000");
  CHECK(!answer.at("logStreams")[1].contains("firstEventTimestamp"));
  CHECK(world.ask("DescribeLogStreams", {{"logStreamNamePrefix", "j2/"}}).at("logStreams").empty());
  CHECK(world.ask("DescribeLogStreams", {{"logStreamNamePrefix", "no/"}}).at("logStreams").empty());
  CHECK(world.logs.operate("DescribeLogStreams", {{"logGroupName", "/other"}}).error() ==
        aws::Refusal{"ResourceNotFoundException", "The specified log group does not exist."});
}

TEST_CASE("logs: streams of all jobs are listed in pages") {
  World world;
  for (const char* name : {"a-1", "a-2", "b-1"}) world.job(name, 2);
  Json input{{"logStreamNamePrefix", "a"}, {"limit", 1}};
  std::string seen;
  for (int page = 0; page < 9; ++page) {
    const Json answer = world.ask("DescribeLogStreams", input);
    for (const Json& each : answer.at("logStreams"))
      seen += each.at("logStreamName").get<std::string>() + " ";
    if (!answer.contains("nextToken")) break;
    input["nextToken"] = answer.at("nextToken");
  }
  CHECK(seen == "a-1/algo-1-1000 a-1/algo-2-1000 a-2/algo-1-1000 a-2/algo-2-1000 ");
  CHECK(world.ask("DescribeLogStreams", {{"nextToken", "zz"}}) == "InvalidParameterException");
}

TEST_CASE("logs: the cost of listing streams depends on the result, not on jobs without streams") {
  World world;
  for (int number = 0; number < 400; ++number)
    world.job("a-" + std::to_string(number), 1, number % 200 == 7);
  for (const char* input : {R"({})", R"({"logStreamNamePrefix": "a"})",
                            R"({"orderBy": "LastEventTime", "descending": true})",
                            R"({"logStreamNamePrefix": "a-3"})", R"({"logStreamNamePrefix": "b"})"})
    for (const char* operation : {"DescribeLogStreams", "FilterLogEvents"}) {
      CAPTURE(input);
      CAPTURE(operation);
      const std::uint64_t before = world.store.effort();
      const Json answer = world.ask(operation, Json::parse(input));
      CHECK(world.store.effort() - before < 1000);
      CHECK(!answer.contains("nextToken"));
    }
  CHECK(world.ask("DescribeLogStreams", Json::object()).at("logStreams").size() == 2);
}

TEST_CASE("logs: GetLogEvents pages forward and back, and a forward token stays valid") {
  World world;
  world.job("j", 1);
  Journal journal;
  for (int i = 0; i < 5; ++i) journal.out(10 + i, -1, std::to_string(i) + "\n");
  world.write("j", "algo-1", journal);
  Json page = world.get({{"startFromHead", true}, {"limit", 2}});
  CHECK(messages(page) == "10 0\n11 1\n");
  page = world.get({{"nextToken", page.at("nextForwardToken")}});
  CHECK(messages(page) == "12 2\n13 3\n14 4\n");
  const std::string token = page.at("nextForwardToken");
  page = world.get({{"nextToken", token}, {"startFromHead", true}});
  CHECK(page.at("events").empty());
  CHECK(page.at("nextForwardToken") == token);
  journal.out(15, -1, "5\n");
  world.write("j", "algo-1", journal);
  CHECK(messages(world.get({{"nextToken", token}})) == "15 5\n");

  page = world.get({{"limit", 2}});
  CHECK(messages(page) == "14 4\n15 5\n");
  page = world.get({{"limit", 3}, {"nextToken", page.at("nextBackwardToken")}});
  CHECK(messages(page) == "11 1\n12 2\n13 3\n");
  page = world.get({{"nextToken", page.at("nextBackwardToken")}});
  CHECK(messages(page) == "10 0\n");
  const std::string back = page.at("nextBackwardToken");
  CHECK(world.get({{"nextToken", back}}).at("nextBackwardToken") == back);
}

TEST_CASE("logs: a journal that moves is read on where it went") {
  World world;
  world.job("j", 1);
  Journal journal;
  journal.out(10, -1, "0\n");
  world.write("j", "algo-1", journal);
  const Json page = world.get({{"startFromHead", true}});
  CHECK(messages(page) == "10 0\n");
  REQUIRE(world.journals.files.keep("j", {"algo-1"}));
  std::filesystem::remove(world.folder + "/j-algo-1");
  journal.out(11, -1, "1\n");
  REQUIRE(write_file(world.journals.files.file("j", "algo-1"), journal.bytes));
  CHECK(messages(world.get({{"nextToken", page.at("nextForwardToken")}})) == "11 1\n");
  CHECK(messages(world.get({{"startFromHead", true}})) == "10 0\n11 1\n");
}

TEST_CASE("logs: GetLogEvents between two times, and what it refuses") {
  World world;
  world.job("j", 1);
  Journal journal;
  for (int i = 0; i < 5; ++i) journal.out(10 + i, -1, std::to_string(i) + "\n");
  world.write("j", "algo-1", journal);
  CHECK(messages(world.get({{"startTime", 11}, {"endTime", 13}})) == "11 1\n12 2\n");
  CHECK(messages(world.get({{"startTime", 14}, {"startFromHead", true}})) == "14 4\n");
  CHECK(messages(world.get({{"startTime", 99}, {"startFromHead", true}})).empty());
  CHECK(messages(world.get({{"startTime", 13}, {"endTime", 11}})).empty());
  CHECK(world.get({{"nextToken", "x/1"}}) == "InvalidParameterException");
  for (const char* name : {"j/algo-2-1000", "j/algo-1-999", "none/algo-1-1000", "j"})
    CHECK(world.get({{"logStreamName", name}}) == "ResourceNotFoundException");
}

TEST_CASE("logs: a page holds about a MiB, forward and back") {
  World world;
  world.job("j", 1);
  Journal journal;
  for (int i = 0; i < 40; ++i) journal.out(i, -1, std::string(100000, 'x') + "\n");
  world.write("j", "algo-1", journal);
  for (const bool head : {true, false}) {
    Json page = world.get({{"startFromHead", head}});
    const char* next = head ? "nextForwardToken" : "nextBackwardToken";
    std::size_t seen = 0;
    while (!page.at("events").empty()) {
      CHECK(page.at("events").size() <= 11);
      seen += page.at("events").size();
      page = world.get({{"nextToken", page.at(next)}});
    }
    CHECK(seen == 40);
  }
}

TEST_CASE("logs: FilterLogEvents merges hosts by time, page by page, each event once") {
  World world;
  world.job("j", 3);
  Journal journals[3];
  for (int i = 0; i < 30; ++i)
    journals[i % 3].out(i / 4, -1, (i % 5 == 0 ? "loss " : "step ") + std::to_string(i) + "\n");
  for (int host = 0; host < 3; ++host)
    world.write("j", "algo-" + std::to_string(host + 1), journals[host]);
  Json input{{"logStreamNamePrefix", "j/"}, {"limit", 4}, {"interleaved", true}};
  std::vector<int> times;
  std::vector<std::string> ids;
  while (true) {
    const Json page = world.ask("FilterLogEvents", input);
    for (const Json& each : page.at("events")) {
      times.push_back(each.at("timestamp"));
      ids.push_back(each.at("eventId"));
    }
    if (!page.contains("nextToken")) break;
    input["nextToken"] = page.at("nextToken");
  }
  CHECK(times.size() == 30);
  CHECK(std::is_sorted(times.begin(), times.end()));
  std::sort(ids.begin(), ids.end());
  CHECK(std::unique(ids.begin(), ids.end()) == ids.end());
  CHECK(world.ask("FilterLogEvents", {{"filterPattern", "loss -25"}}).at("events").size() == 5);
  CHECK(world.ask("FilterLogEvents", {{"startTime", 7}}).at("events").size() == 2);
  const Json one = world.ask("FilterLogEvents", {{"logStreamNames", {"j/algo-2-1000"}}});
  CHECK(one.at("events").size() == 10);
  CHECK(world.ask("FilterLogEvents", {{"filterPattern", "{ $.a = 1 }"}}) ==
        "InvalidParameterException");
  CHECK(world.ask("FilterLogEvents", {{"nextToken", "00"}}) == "InvalidParameterException");
  CHECK(world.ask("FilterLogEvents", {{"logStreamNames", {"j/no"}}}) ==
        "ResourceNotFoundException");
}

TEST_CASE("logs: patterns of words and regular expressions") {
  struct {
    const char* pattern;
    const char* message;
    bool want;
  } const cases[] = {
      {"", "anything", true},
      {"loss", "a loss here", true},
      {"loss step", "step 1", false},
      {"loss step", "step 1 loss 2", true},
      {"?loss ?acc", "acc 1", true},
      {"?loss ?acc", "f1 1", false},
      {"loss -nan", "loss nan", false},
      {"\"loss: 1\"", "loss: 12", true},
      {"\"a \\\" b\"", "a \" b", true},
      {"Loss", "loss", false},
      {"- x", "a - x", true},
      {"%loss=[0-9]+%", "step 1 loss=12", true},
      {"%loss=[0-9]+%", "loss=x", false},
      {"%^[hc]at%", "that", false},
      {"%[hc]at$%", "a cat", true},
      {"%Loss%", "loss", false},
      {"%a|b%", "xb", true},
      {" %10\\.1% ", "10.1", true},
      {"%10\\.1%", "1001", false},
      {"%a{3,5}%", "aa", false},
      {"%\\d\\s\\w%", "1 a", true},
      {"%\\x41%", "A", true},
      {"%\\(a\\)%", "(a)", true},
      {"%loss: .%", "loss: é", true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.pattern);
    CHECK(LogFilter::from(c.pattern)->matches(c.message) == c.want);
  }
  CHECK(LogFilter::from("loss acc")->cost() == 1);
  CHECK(LogFilter::from("%[a-z]{100}%")->cost() > 10);
  for (const char* bad :
       {"{ $.x = 1 }", "[a, b]", "\"open",  "%",         "%%",
        "%x",          "%x% y",  "%x% %y%", "%(a)%",     "%a!%",
        "%(?i)a%",     "%\\pL%", "%\\bx%",  "%\\Qx%",    "%a\\%",
        "%é%",         "%[a%",   "%*%",     "%a{1001}%", "%[a-z]{1000}[a-z]{1000}[a-z]{1000}%",
        "%(a*)*%",     "%\\1%"})
    CHECK_MESSAGE(!LogFilter::from(bad), bad);
}

}  // namespace
}  // namespace muster::cloudwatch
