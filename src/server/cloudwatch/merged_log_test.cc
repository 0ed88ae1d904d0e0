#include "server/cloudwatch/merged_log.h"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <filesystem>

#include "base/fd.h"
#include "job/outcome/lines.h"
#include "job/wire/journal.h"

namespace muster::cloudwatch {
namespace {

/// Journals of two hosts on the disk.
struct World {
  std::string folder = *make_private_folder("/tmp", "muster-merged-");
  std::vector<MergedLog::Host> hosts = {{"algo-1", folder + "/1"}, {"algo-2", folder + "/2"}};
  std::string bytes[2];
  std::uint64_t seq[2] = {0, 0};
  ~World() { std::filesystem::remove_all(folder); }

  void line(std::size_t host, int ms, const std::string& text) {
    const job::Lines lines{.rank = 0, .bytes = text + "\n", .alone = true};
    job::append_record(bytes[host], ++seq[host], UnixMillis(ms), job::Message::lines,
                       encode(lines));
  }
  void write() const {
    for (std::size_t host : {0u, 1u}) REQUIRE(write_file(hosts[host].journal, bytes[host]));
  }
  static std::string texts(MergedLog& log, std::uint64_t from, std::size_t most) {
    const auto lines = log.read(from, most, 100);
    REQUIRE(lines);
    std::string all;
    for (const MergedLog::Line& line : *lines)
      all += std::to_string(line.number) + ":" + std::to_string(line.host) + ":" + line.text + " ";
    return all;
  }
};

TEST_CASE("merged log: lines stand by time, and keep their numbers when earlier ones come late") {
  World w;
  w.line(0, 10, "a");
  w.line(1, 20, "b");
  w.line(0, 30, "c");
  w.write();
  MergedLog log(w.hosts);
  REQUIRE(log.catch_up(w.hosts, false));
  CHECK(log.count() == 3);
  CHECK(World::texts(log, 0, 10) == "0:0:a 1:1:b 2:0:c ");
  w.line(1, 25, "late");
  w.line(0, 40, "d");
  w.write();
  REQUIRE(log.catch_up(w.hosts, true));
  CHECK(World::texts(log, 0, 10) == "0:0:a 1:1:b 2:0:c 3:1:late 4:0:d ");
  CHECK(World::texts(log, 3, 1) == "3:1:late ");
  CHECK(World::texts(log, 5, 1).empty());
  MergedLog fresh(w.hosts);
  REQUIRE(fresh.catch_up(w.hosts, true));
  CHECK(World::texts(fresh, 0, 10) == "0:0:a 1:1:b 2:1:late 3:0:c 4:0:d ");
}

TEST_CASE("merged log: any line of a long one is read from its number alone") {
  for (const bool alone : {false, true}) {
    CAPTURE(alone);
    World w;
    for (int i = 0; i < 10'000; ++i)
      w.line(static_cast<std::size_t>(alone ? 0 : i % 2), i, "line " + std::to_string(i));
    w.write();
    if (alone) w.hosts.pop_back();
    MergedLog log(w.hosts);
    REQUIRE(log.catch_up(w.hosts, true));
    REQUIRE(log.count() == 10'000);
    for (const std::uint64_t at : {0u, 1u, 4095u, 4096u, 5000u, 9999u}) {
      const auto lines = log.read(at, 3, 100);
      REQUIRE(lines);
      REQUIRE(lines->size() == std::min<std::uint64_t>(3, 10'000 - at));
      for (std::size_t i = 0; i < lines->size(); ++i)
        CHECK((*lines)[i].text == "line " + std::to_string(at + i));
    }
  }
}

TEST_CASE("merged log: numbers stay where many lines came late, whatever is read first") {
  World w;
  for (int i = 0; i < 9000; ++i)
    w.line(static_cast<std::size_t>(i % 2), i, "a" + std::to_string(i));
  w.write();
  MergedLog log(w.hosts);
  REQUIRE(log.catch_up(w.hosts, false));
  for (int i = 0; i < 9000; ++i)
    w.line(static_cast<std::size_t>(i % 2), i, "b" + std::to_string(i));
  w.write();
  REQUIRE(log.catch_up(w.hosts, true));
  REQUIRE(log.count() == 18'000);
  for (const std::uint64_t from : {0u, 4095u, 8190u, 8999u, 9000u, 12'288u, 17'990u}) {
    const auto lines = log.read(from, 20, 100);
    REQUIRE(lines);
    for (const MergedLog::Line& line : *lines) {
      // Times of a host never go back: its late lines all have that of its last one before.
      if (line.number < 9000) CHECK(line.text == "a" + std::to_string(line.number));
      if (line.number >= 9000) CHECK(line.text.starts_with("b"));
    }
  }
  const auto found = log.find(re2::RE2("^b"), 8000, 20'000, 1u << 30);
  REQUIRE(found);
  REQUIRE(found->numbers.size() == 9000);
  CHECK(found->numbers.front() == 9000);
  CHECK(found->numbers.back() == 17'999);
}

TEST_CASE("merged log: a long line is cut between characters, and tells its length") {
  World w;
  w.line(0, 1, "ab\xc3\xa4");
  w.write();
  MergedLog log(w.hosts);
  REQUIRE(log.catch_up(w.hosts, true));
  const auto lines = log.read(0, 1, 3);
  REQUIRE(lines);
  CHECK(lines->at(0).text == "ab");
  CHECK(lines->at(0).text_bytes == 4);
}

TEST_CASE("merged log: a search goes on where the last one ended, until it has seen all") {
  for (const bool alone : {false, true}) {
    CAPTURE(alone);
    World w;
    for (int i = 0; i < 9'000; ++i)
      w.line(static_cast<std::size_t>(alone ? 0 : i % 2), i,
             i % 3'000 == 7 ? "an Error here" : "all is well");
    w.write();
    if (alone) w.hosts.pop_back();
    MergedLog log(w.hosts);
    REQUIRE(log.catch_up(w.hosts, true));
    const re2::RE2 wanted("Err.r");
    std::vector<std::uint64_t> all;
    int calls = 0;
    for (std::uint64_t from = 0; from < log.count(); ++calls) {
      const auto found = log.find(wanted, from, 1, 30'000);
      REQUIRE(found);
      REQUIRE(found->looked_to > from);
      all.insert(all.end(), found->numbers.begin(), found->numbers.end());
      from = found->looked_to;
    }
    CHECK(all == std::vector<std::uint64_t>{7, 3007, 6007});
    CHECK(calls > 3);
    const auto none = log.find(wanted, 99'999, 1, 30'000);
    REQUIRE(none);
    CHECK(none->looked_to == log.count());
  }
}

TEST_CASE("merged log: a search finds text across a change of colour, and the colours themselves") {
  World w;
  w.line(0, 0, "step 7 \x1b[32mloss\x1b[0m=\x1b[1;31m0.5\x1b[0m");
  w.line(0, 1, "step 8 loss = 0.5");
  w.write();
  MergedLog log(w.hosts);
  REQUIRE(log.catch_up(w.hosts, true));
  for (const char* pattern : {"loss=0", "7 loss=0\\.5$", R"(\x1b\[32mloss)"}) {
    CAPTURE(pattern);
    const auto found = log.find(re2::RE2(pattern), 0, 10, 1u << 20);
    REQUIRE(found);
    CHECK(found->numbers == std::vector<std::uint64_t>{0});
  }
}

TEST_CASE("merged log: lines of given numbers, near and far from each other") {
  World w;
  for (std::size_t i = 0; i < 20'000; ++i) w.line(i % 2, static_cast<int>(i), std::to_string(i));
  w.write();
  MergedLog log(w.hosts);
  REQUIRE(log.catch_up(w.hosts, true));
  std::string texts;
  const std::vector<MergedLog::Line> lines =
      *log.read_each({0, 1, 9000, 9002, 19'999, 20'000}, 100);
  for (const MergedLog::Line& line : lines) texts += line.text + " ";
  CHECK(texts == "0 1 9000 9002 19999 ");
  CHECK(log.read_each({}, 100)->empty());
  std::vector<std::uint64_t> seen;
  const auto visit = [&](std::uint64_t number, std::size_t host, const LogEvent& event) {
    CHECK(event.message == std::to_string(number));
    CHECK(host == number % 2);
    seen.push_back(number);
    return seen.size() < 3;
  };
  CHECK(*log.scan(19'990, 1000, visit) == 19'993);
  CHECK(*log.scan(19'998, 1, visit) == 19'999);
  CHECK(*log.scan(30'000, 1000, visit) == 20'000);
  CHECK(seen == std::vector<std::uint64_t>{19'990, 19'991, 19'992, 19'998});
}

/// What this process has read of files by now. Source: proc(5).
std::uint64_t bytes_read() {
  const std::string io = *read_file("/proc/self/io", 4096);
  return std::stoull(io.substr(io.find("rchar: ") + 7));
}

TEST_CASE("merged log: one that was followed is searched in about one reading of it") {
  World w;
  MergedLog log(w.hosts);
  constexpr int looks = 400;
  for (int look = 0; look < looks; ++look) {
    for (int i = 0; i < 10; ++i)
      w.line(static_cast<std::size_t>(i % 2), look * 10 + i,
             std::string(200, 'x') + std::to_string(look));
    w.write();
    REQUIRE(log.catch_up(w.hosts, false));
  }
  REQUIRE(log.count() == looks * 10);
  const std::uint64_t before = bytes_read();
  const auto found = log.find(re2::RE2("x399$"), 0, 100, 1u << 30);
  REQUIRE(found);
  CHECK(found->numbers.size() == 10);
  const std::uint64_t size = w.bytes[0].size() + w.bytes[1].size();
  MESSAGE("a log of ", size, " bytes: ", bytes_read() - before, " were read");
  CHECK(bytes_read() - before < 20 * size);
}

}  // namespace
}  // namespace muster::cloudwatch
