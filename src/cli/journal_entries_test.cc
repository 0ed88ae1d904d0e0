#include "cli/journal_entries.h"

#include <doctest/doctest.h>

#include "base/folder.h"
#include "base/remove_tree.h"
#include "cli/own_log.h"

namespace muster::cli {
namespace {

job::Record lines(int time, const job::Lines& what, std::uint64_t seq = 2) {
  return {seq, UnixMillis(time), job::Message::lines, job::encode(what)};
}

job::Lines of(int rank, std::string bytes) {
  job::Lines lines;
  lines.rank = rank;
  lines.bytes = std::move(bytes);
  return lines;
}

std::vector<std::string> texts(const std::vector<LogEntry>& entries) {
  std::vector<std::string> all;
  for (const LogEntry& entry : entries)
    all.push_back(std::to_string(entry.time.count()) + " " + std::to_string(entry.rank) + " " +
                  entry.text);
  return all;
}

using Texts = std::vector<std::string>;

TEST_CASE("journal entries: lines are whole, whoever else writes in between") {
  JournalEntries journal("algo-1");
  std::vector<LogEntry> entries;
  job::Lines part = of(0, "be");
  part.part = true;
  journal.take(lines(1, part), entries);
  journal.take(lines(2, of(1, "one\ntwo\n")), entries);
  journal.take(lines(3, of(0, "gun\nnext\n")), entries);
  part.bytes = "never ended";
  journal.take(lines(4, part), entries);
  CHECK(texts(entries) == Texts{"2 1 one\ntwo", "3 0 begun\nnext"});
  CHECK(entries[0].host == "algo-1");
  entries.clear();
  journal.finish(entries);
  CHECK(texts(entries) == Texts{"4 0 never ended"});
  entries.clear();
  journal.finish(entries);
  CHECK(entries.empty());
}

TEST_CASE("journal entries: what an attempt left unfinished is no part of the next one's lines") {
  JournalEntries journal("algo-1");
  std::vector<LogEntry> entries;
  job::Lines part = of(0, "cut o");
  part.part = true;
  journal.take(lines(1, part), entries);
  journal.take(lines(2, of(0, "again\n"), 1), entries);
  CHECK(texts(entries) == Texts{"2 0 cut o", "2 0 again"});
}

TEST_CASE("journal entries: a line without an end is shown in pieces") {
  JournalEntries journal("algo-1");
  std::vector<LogEntry> entries;
  job::Lines part = of(0, std::string(job::line_bytes_max, 'x'));
  part.part = true;
  journal.take(lines(1, part), entries);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].text.size() == job::line_bytes_max);
}

TEST_CASE("journal entries: a progress bar is a line a second, and its last state") {
  JournalEntries journal("algo-1");
  std::vector<LogEntry> entries;
  for (int i = 0; i < 25; ++i) {
    job::Lines step = of(0, std::to_string(i) + "%\r\n");
    step.steps = true;
    journal.take(lines(i * 100, step), entries);
  }
  journal.take(lines(2600, of(0, "done\n")), entries);
  CHECK(texts(entries) == Texts{"0 0 0%", "1000 0 10%", "2000 0 20%", "2600 0 24%", "2600 0 done"});
}

TEST_CASE("journal entries: of muster's own lines, those that sm fit shows") {
  JournalEntries journal("algo-1");
  std::vector<LogEntry> entries;
  const auto log = [&](const std::string& level) {
    journal.take({1, UnixMillis(7), job::Message::log, job::encode(job::LogLine{level, "text"})},
                 entries);
  };
  log("info");
  log("warning");
  log("error");
  journal.take({1, UnixMillis(8), job::Message::lines, "torn"}, entries);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].kind == LogEntry::Kind::own);
  CHECK(entries[0].name == "warning");
}

TEST_CASE("own log: hosts and statuses in order of time, as files, damage ends one host's lines") {
  const std::string folder = *make_private_folder("/tmp", "muster-own-log-");
  std::string one, two;
  job::append_record(one, 1, UnixMillis(1000), job::Message::lines, job::encode(of(0, "a\n")));
  job::append_record(one, 2, UnixMillis(3000), job::Message::lines, job::encode(of(0, "c\n")));
  job::append_record(two, 1, UnixMillis(2000), job::Message::lines, job::encode(of(1, "b\n")));
  job::append_record(two, 2, UnixMillis(2500), job::Message::lines, job::encode(of(1, "x\n")));
  two.back() ^= 1;
  REQUIRE(write_file(folder + "/1", one));
  REQUIRE(write_file(folder + "/2", two));
  REQUIRE(make_folders(folder + "/log"));
  const OwnLog::Files files{
      {"algo-1", folder + "/1"}, {"algo-2", folder + "/2"}, {"algo-3", folder + "/none"}};
  REQUIRE(write_log(files, {{"Training", "on", UnixMillis(0)}, {"Failed", "bad", UnixMillis(9000)}},
                    RenderOptions{.hosts = 3, .ranks = 3}, folder + "/log"));
  CHECK(read_file(folder + "/log/all.log").value_or("") ==
        "1970-01-01 00:00:00 Training - on\nalgo-1 rank 0 | a\nalgo-2 rank 1 | b\n"
        "algo-1 rank 0 | c\n1970-01-01 00:00:09 Failed - bad\n");
  CHECK(read_file(folder + "/log/algo-2.log").value_or("") == "algo-2 rank 1 | b\n");
  REQUIRE(remove_tree(folder));
}

}  // namespace
}  // namespace muster::cli
