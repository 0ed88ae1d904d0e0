#include "platform/journals/log_lines.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace muster::platform {
namespace {

using Texts = std::vector<std::string>;

/// What came since the last time, "TIME RANK TEXT" or "TIME LEVEL: TEXT".
struct Told {
  LogLines lines{};
  Texts texts{};
  int seq = 1;
  LogLines::Take take = [this](const HostLines& each) {
    const std::string who =
        each.level.empty() ? std::to_string(each.rank) : std::string(each.level) + ":";
    texts.push_back(std::to_string(each.time.count()) + " " + who + " " + std::string(each.text));
  };

  void record(int time, job::Message kind, const std::string& payload) {
    lines.take({static_cast<std::uint64_t>(++seq), UnixMillis(time), kind, payload}, take);
  }
  void says(int time, int rank, std::string bytes, bool part = false, bool steps = false) {
    record(time, job::Message::lines,
           job::encode({.rank = rank, .part = part, .bytes = std::move(bytes), .steps = steps}));
  }
  Texts got() { return std::exchange(texts, {}); }
};

TEST_CASE("log lines: lines are whole, even if other writers interrupt them") {
  Told told;
  told.says(1, 0, "be", true);
  told.says(2, 1, "one\ntwo\n");
  told.says(3, 0, "gun\nnext\n");
  told.says(4, 0, "never ended", true);
  CHECK(told.got() == Texts{"2 1 one\ntwo", "3 0 begun\nnext"});
  told.lines.finish(told.take);
  CHECK(told.got() == Texts{"4 0 never ended"});
  told.lines.finish(told.take);
  CHECK(told.got().empty());
}

TEST_CASE("log lines: an attempt's unfinished line is not joined with the next attempt's lines") {
  Told told;
  told.says(1, 0, "cut o", true);
  told.seq = 0;
  told.says(2, 0, "again\n");
  CHECK(told.got() == Texts{"1 0 cut o", "2 0 again"});
}

TEST_CASE("log lines: lines know their attempt") {
  LogLines lines;
  std::vector<int> attempts;
  const LogLines::Take take = [&](const HostLines& each) { attempts.push_back(each.attempt); };
  const auto say = [&](std::uint64_t seq, const char* text, bool part = false) {
    lines.take({seq, UnixMillis(1), job::Message::lines,
                job::encode({.rank = 0, .part = part, .bytes = text})},
               take);
  };
  say(1, "one\n");
  say(2, "cut o", true);
  LogLines copy = lines;
  for (LogLines* each : {&lines, &copy}) {
    attempts.clear();
    each->take({1, UnixMillis(2), job::Message::log, job::encode(job::LogLine{"warning", "x"})},
               take);
    each->take({2, UnixMillis(2), job::Message::lines, job::encode({.rank = 0, .bytes = "a\n"})},
               take);
    CHECK(attempts == std::vector<int>{1, 2, 2});
  }
}

TEST_CASE("log lines: the host's end ends its lines") {
  Told told;
  told.says(1, 0, "cut o", true);
  told.record(2, job::Message::phase, job::encode(job::PhaseChange{job::Phase::training, ""}));
  CHECK(told.got().empty());
  told.record(3, job::Message::phase, job::encode(job::PhaseChange{job::Phase::failed, ""}));
  CHECK(told.got() == Texts{"3 0 cut o"});
}

TEST_CASE("log lines: a line without an end is given in pieces") {
  Told told;
  told.says(1, 0, std::string(job::line_bytes_max, 'x'), true);
  REQUIRE(told.texts.size() == 1);
  CHECK(told.texts[0] == "1 0 " + std::string(job::line_bytes_max, 'x'));
  CHECK(told.lines.waiting_bytes() == 0);
}

TEST_CASE("log lines: a progress bar is a line a second, and its last state") {
  Told told;
  for (int i = 0; i < 25; ++i) told.says(i * 100, 0, std::to_string(i) + "%\r\n", false, true);
  told.says(2600, 0, "done\n");
  CHECK(told.got() == Texts{"0 0 0%", "1000 0 10%", "2000 0 20%", "2600 0 24%", "2600 0 done"});
}

TEST_CASE("log lines: of muster's own there are errors, warnings and notes") {
  Told told;
  for (const char* level : {"debug", "info", "note", "warning", "error"})
    told.record(7, job::Message::log, job::encode(job::LogLine{level, "text"}));
  told.record(8, job::Message::lines, "torn");
  CHECK(told.got() == Texts{"7 note: text", "7 warning: text", "7 error: text"});
}

}  // namespace
}  // namespace muster::platform
