#include "platform/journals/timelines.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

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

}  // namespace
}  // namespace muster::platform
