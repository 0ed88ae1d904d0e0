#include "job/wire/timeline.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "job/outcome/lines.h"

namespace muster::job {
namespace {

using std::chrono::milliseconds;

/// A host's journal, a record at each time.
class Told {
 public:
  Told& mark(int ms, Mark mark, std::int64_t bytes = -1) {
    return take(ms, Message::mark, encode(Moment{mark, bytes}));
  }
  Told& phase(int ms, Phase phase) {
    return take(ms, Message::phase, encode(PhaseChange{phase, ""}));
  }
  Told& line(int ms, int rank) {
    return take(ms, Message::lines, encode(Lines{rank, Stream::out, false, "x\n"}));
  }
  const HostTimeline& host() const { return reader_.timeline(); }

 private:
  Told& take(int ms, Message kind, std::string payload) {
    reader_.take({++seq_, UnixMillis(ms), kind, std::move(payload)});
    return *this;
  }
  TimelineReader reader_{"algo-1"};
  std::uint64_t seq_ = 0;
};

Told whole() {
  Told told;
  told.phase(100, Phase::starting).mark(130, Mark::root).phase(130, Phase::downloading);
  told.mark(180, Mark::inputs, 4096).phase(181, Phase::training).line(190, -1);
  told.mark(200, Mark::begun).mark(210, Mark::joined).mark(220, Mark::gathered);
  told.mark(221, Mark::checked).mark(230, Mark::code).mark(240, Mark::launched);
  told.line(245, -1).mark(300, Mark::rank).line(310, 0).line(400, 1).line(401, -1);
  told.phase(420, Phase::uploading).phase(450, Phase::completed);
  return told;
}

std::vector<std::string> told_phases(const std::vector<Stretch>& stretches) {
  std::vector<std::string> result;
  for (const Stretch& each : stretches)
    result.push_back(std::string(phase_before(each.until)) + " " +
                     std::to_string((each.end - each.begin).count()));
  return result;
}

TEST_CASE("timeline: a host's life has no gaps, and adds up") {
  const std::vector<Stretch> all = stretches(whole().host(), UnixMillis(60));
  CHECK(told_phases(all) ==
        std::vector<std::string>{"queued 40", "root file system 30", "inputs 50", "container 20",
                                 "roll call 10", "other hosts 10", "preflight 1", "code 9",
                                 "plan 10", "launcher 60", "first line 10", "running 90",
                                 "last line to end 20", "results 30"});
  milliseconds sum{0};
  for (const Stretch& each : all) sum += each.end - each.begin;
  CHECK(sum == milliseconds(450 - 60));
  CHECK(whole().host().input_bytes == 4096);
}

TEST_CASE("timeline: a program without train has phases by its lines") {
  Told told;
  told.phase(1, Phase::starting).mark(2, Mark::root).mark(3, Mark::inputs);
  told.line(5, -1).line(9, -1).phase(10, Phase::uploading).phase(11, Phase::failed);
  CHECK(told_phases(stretches(told.host(), UnixMillis(1))) ==
        std::vector<std::string>{"queued 0", "root file system 1", "inputs 1", "first line 2",
                                 "running 4", "last line to end 1", "results 1"});
}

TEST_CASE("timeline: a first metric divides the running time, whichever component sets it") {
  HostTimeline host = whole().host();
  host.when(Point::first_metric) = UnixMillis(350);
  const std::vector<std::string> told = told_phases(stretches(host, UnixMillis(60)));
  CHECK(std::vector<std::string>(told.begin() + 10, told.end()) ==
        std::vector<std::string>{"first line 10", "first metric 40", "running 50",
                                 "last line to end 20", "results 30"});
}

TEST_CASE("timeline: a further attempt starts from the beginning") {
  Told told = whole();
  told.phase(500, Phase::starting).mark(520, Mark::root);
  CHECK(told.host().attempt == 2);
  CHECK(told_phases(stretches(told.host(), UnixMillis(60))) ==
        std::vector<std::string>{"queued 440", "root file system 20"});
}

TEST_CASE("timeline: a clock that is set back makes no negative phase") {
  Told told;
  told.phase(100, Phase::starting).mark(90, Mark::root).mark(110, Mark::inputs);
  CHECK(told_phases(stretches(told.host(), UnixMillis(120))) ==
        std::vector<std::string>{"queued 0", "root file system 0", "inputs 0"});
}

TEST_CASE("timeline: its JSON is read back") {
  const JobTimeline timeline{"j", UnixMillis(60), {whole().host(), Told().host()}};
  CHECK(*job_timeline_from(to_json(timeline)) == timeline);
  for (const char* text :
       {"[]", "{}", R"({"submitted_ms":1})", R"({"submitted_ms":1,"hosts":[1]})",
        R"({"submitted_ms":"1","hosts":[]})",
        R"({"submitted_ms":1,"hosts":[{"host":"a","points":[1]}]})",
        R"({"submitted_ms":1,"hosts":[{"host":"a","points":[{"point":"root","ms":"x"}]}]})",
        R"({"submitted_ms":1,"hosts":[{"host":"a","points":[],"attempt":"x"}]})"}) {
    CAPTURE(text);
    CHECK(job_timeline_from(*parse_json(text)).error().code == Errc::protocol);
  }
}

}  // namespace
}  // namespace muster::job
