#include "logs/merged_log.h"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <filesystem>

#include "base/fd.h"
#include "job/journal.h"
#include "job/lines.h"

namespace muster::logs {
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

}  // namespace
}  // namespace muster::logs
