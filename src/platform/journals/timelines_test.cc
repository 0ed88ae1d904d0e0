#include "platform/journals/timelines.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "job/outcome/lines.h"

namespace muster::platform {
namespace {

std::string journal(int records) {
  std::string bytes;
  std::uint64_t seq = 0;
  const auto add = [&](job::Message kind, const std::string& payload) {
    ++seq;
    job::append_record(bytes, seq, UnixMillis(10 * static_cast<std::int64_t>(seq)), kind, payload);
  };
  add(job::Message::phase, job::encode(job::PhaseChange{job::Phase::starting, ""}));
  add(job::Message::mark, job::encode(job::Moment{job::Mark::root}));
  while (seq < static_cast<std::uint64_t>(records))
    add(job::Message::log, job::encode(job::LogLine{"info", "x"}));
  add(job::Message::phase, job::encode(job::PhaseChange{job::Phase::completed, ""}));
  return bytes;
}

TEST_CASE("timelines: read from journals, also from one that is not there or damaged") {
  const std::string folder = *make_private_folder("/tmp", "muster-test-");
  std::string damaged = journal(3);
  damaged[damaged.size() - 3] ^= 1;
  REQUIRE(write_file(folder + "/1", journal(100'000)));
  REQUIRE(write_file(folder + "/2", damaged));
  const Result<job::JobTimeline> timeline = read_timeline(
      "j", UnixMillis(4),
      {{"algo-1", folder + "/1"}, {"algo-2", folder + "/2"}, {"algo-3", folder + "/3"}});
  REQUIRE(timeline);
  REQUIRE(timeline->hosts.size() == 3);
  CHECK(timeline->hosts[0].when(job::Point::stored) == UnixMillis(1'000'010));
  CHECK(timeline->hosts[1].when(job::Point::root) == UnixMillis(20));
  CHECK_FALSE(timeline->hosts[1].when(job::Point::stored));
  CHECK(timeline->hosts[2] == job::HostTimeline{.host = "algo-3"});
  CHECK(timeline->submitted == UnixMillis(4));
  REQUIRE(remove_tree(folder));
}

/// Lines of a host without ranks at 1000 ms, 2000 ms, and so on.
std::string journal_with(const std::vector<std::string>& texts, int rank = -1) {
  std::string bytes;
  std::uint64_t seq = 0;
  for (const std::string& text : texts) {
    ++seq;
    job::append_record(
        bytes, seq, UnixMillis(1000 * static_cast<std::int64_t>(seq)), job::Message::lines,
        job::encode(job::Lines{.rank = rank, .part = text.back() != '\n', .bytes = text}));
  }
  return bytes;
}

TEST_CASE("timelines: a host's first metric has the time of its line, of the latest attempt") {
  const std::string folder = *make_private_folder("/tmp", "muster-test-");
  std::vector<std::string> long_log(20'000, "no figure\n");
  long_log[15'000] = "loss=2\n";
  const std::vector<std::string> attempts = {"loss=1\n", "restarts\n", "nothing\nloss=2\n",
                                             "loss=3\n"};
  const struct {
    const char* name;
    std::string bytes;
    std::int64_t since;
    const char* expression;
    std::int64_t want;  // 0: none.
  } cases[] = {
      {"first attempt", journal_with(attempts), 1000, "loss=([0-9]+)", 1000},
      {"latest attempt", journal_with(attempts), 2000, "loss=([0-9]+)", 3000},
      {"a later line", journal_with(attempts) + "damaged", 3500, "loss=([0-9]+)", 4000},
      {"no more lines", journal_with(attempts), 9000, "loss=([0-9]+)", 0},
      {"no number", journal_with({"loss=nan\n"}), 1000, "loss=(.*)", 0},
      {"a long log", journal_with(long_log), 1000, "loss=([0-9]+)", 15'001'000},
      {"a line in pieces", journal_with({"lo", "ss=1", "2\n"}), 1000, "loss=([0-9]+)", 3000},
      {"a line without an end", journal_with({"loss=1"}), 1000, "loss=([0-9]+)", 0},
      {"a line's start", journal_with({"loss=1\n"}), 1000, "^loss=([0-9]+)", 1000},
      {"a rank's line starts with its tag", journal_with({"loss=1\n"}, 3), 1000, "^loss=(.*)", 0},
      {"a rank's tag", journal_with({"loss=1\n"}, 3), 1000, "mpirank:3.*loss=([0-9]+)", 1000},
      {"no journal", "", 1000, "loss=([0-9]+)", 0},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    if (!each.bytes.empty()) REQUIRE(write_file(folder + "/journal", each.bytes));
    job::JobTimeline timeline{"j", UnixMillis(0), {{.host = "algo-1"}, {.host = "algo-2"}}};
    timeline.hosts[0].when(job::Point::first_line) = UnixMillis(each.since);
    REQUIRE(add_first_metrics({{"m", each.expression}},
                              {{"algo-1", folder + (each.bytes.empty() ? "/none" : "/journal")},
                               {"algo-2", folder + "/journal"}},
                              timeline));
    const std::optional<UnixMillis> found = timeline.hosts[0].when(job::Point::first_metric);
    CHECK(found.value_or(UnixMillis(0)) == UnixMillis(each.want));
    CHECK_FALSE(timeline.hosts[1].when(job::Point::first_metric));  // algo-2 has no first line.
  }
  REQUIRE(remove_tree(folder));
}

}  // namespace
}  // namespace muster::platform
