#include "platform/cause.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "job/outcome/lines.h"

namespace muster::platform {
namespace {

job::Verdict ended(const char* host, int rank, job::Outcome outcome) {
  job::Verdict verdict;
  verdict.host = host;
  verdict.rank = rank;
  verdict.process = rank < 0 ? "orted" : "rank " + std::to_string(rank);
  verdict.outcome = std::move(outcome);
  return verdict;
}

class Story {
 public:
  Story& phase(const char* host, int ms, job::Phase phase) {
    return take(host, ms, job::Message::phase, job::encode(job::PhaseChange{phase, ""}));
  }
  Story& mark(const char* host, int ms, job::Mark mark) {
    return take(host, ms, job::Message::mark, job::encode(job::Moment{mark}));
  }
  Story& line(const char* host, int ms, int rank) {
    return take(host, ms, job::Message::lines,
                job::encode(job::Lines{rank, job::Stream::out, false, "x\n"}));
  }
  Story& end(int ms, const job::Verdict& verdict) {
    return take(verdict.host.c_str(), ms, job::Message::outcome, to_text(job::to_json(verdict)));
  }
  CauseReader reader;

 private:
  Story& take(const char* host, int ms, job::Message kind, std::string payload) {
    reader.take(host, {1, UnixMillis(ms), kind, std::move(payload)});
    return *this;
  }
};

TEST_CASE("cause: which host failed first, when, doing what, and which others followed") {
  const job::Verdict first = ended("algo-2", 3, job::Outcome::exited(1));
  Story story;
  story.phase("algo-1", 1000, job::Phase::starting).phase("algo-2", 1010, job::Phase::starting);
  story.mark("algo-2", 1100, job::Mark::rank).line("algo-2", 1200, 3);
  story.end(1500, first).end(1520, ended("algo-1", 0, job::Outcome::signaled(15)));
  story.end(1580, ended("algo-2", 2, job::Outcome::signaled(15)));
  story.end(1590, ended("algo-2", -1, job::Outcome::exited(1)));
  story.end(1600, ended("algo-1", 1, job::Outcome::exited(0)));
  const Cause cause = story.reader.cause_of(first);
  CHECK(cause.time == UnixMillis(1500));
  CHECK(cause.after == UnixMillis(490));
  CHECK(cause.doing == "running");
  CHECK(cause.victims == 2);
  CHECK(cause.within == UnixMillis(80));
}

TEST_CASE("cause: the host's last point is the one before the failure") {
  const job::Verdict pip = [] {
    job::Verdict verdict = ended("algo-1", -1, job::Outcome::exited(1));
    verdict.process = "pip";
    return verdict;
  }();
  Story story;
  story.phase("algo-1", 1, job::Phase::starting).mark("algo-1", 2, job::Mark::code);
  story.end(5, pip).phase("algo-1", 9, job::Phase::uploading);
  CHECK(story.reader.cause_of(pip).doing == "preparing the program");
  CHECK(story.reader.cause_of(pip).victims == 0);
}

TEST_CASE("cause: what a host was doing is named for each point that it had reached") {
  using job::Mark;
  struct Point {
    Mark mark;
    const char* doing;
  };
  const Point points[] = {
      {Mark::root, "fetching its inputs"},
      {Mark::inputs, "starting its container"},
      {Mark::begun, "joining the other hosts"},
      {Mark::joined, "waiting for the other hosts"},
      {Mark::gathered, "comparing the hosts"},
      {Mark::checked, "fetching the code"},
      {Mark::code, "preparing the program"},
      {Mark::packages, "preparing the program"},
      {Mark::launched, "launching"},
      {Mark::rank, "running, before its first line"},
  };
  const job::Verdict failed = ended("algo-1", -1, job::Outcome::exited(1));
  Story story;
  story.phase("algo-1", 1, job::Phase::starting);
  CHECK(Story(story).end(2, failed).reader.cause_of(failed).doing == "preparing its file system");
  for (const Point& point : points) {
    CAPTURE(point.doing);
    story.mark("algo-1", 2, point.mark);
    CHECK(Story(story).end(3, failed).reader.cause_of(failed).doing == point.doing);
  }
}

TEST_CASE("cause: the card has the times, and how many failed because of it") {
  job::Verdict first = ended("algo-1", 0, job::Outcome::signaled(9));
  first.out_of_memory = true;
  Story story;
  story.phase("algo-1", 1000, job::Phase::starting).end(1500, first);
  Json json = to_json(story.reader.cause_of(first));
  CHECK(json["out_of_memory"] == true);
  CHECK(json["time_ms"] == 1500);
  CHECK(json["after_ms"] == 500);
  CHECK(json["victims"] == 0);
  CHECK_FALSE(json.contains("within_ms"));
  story.end(1540, ended("algo-2", 1, job::Outcome::exited(1)));
  json = to_json(story.reader.cause_of(first));
  CHECK(json["victims"] == 1);
  CHECK(json["within_ms"] == 40);
}

TEST_CASE("cause: without a journal it has only the verdict") {
  const job::Verdict lost = ended("algo-9", -1, job::Outcome::lost("no heartbeat"));
  const Json json = to_json(Story().reader.cause_of(lost));
  CHECK(json["host"] == "algo-9");
  CHECK_FALSE(json.contains("time_ms"));
  CHECK_FALSE(json.contains("victims"));
  CHECK_FALSE(json.contains("doing"));
}

TEST_CASE("cause: the card has what to do about it") {
  job::Verdict verdict = ended("algo-1", 0, job::Outcome::exited(1));
  verdict.last_lines =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n"
      "OSError: [Errno 98] Address already in use\n";
  const Json json = to_json(CauseReader().cause_of(verdict));
  CHECK(json["topic"] == "exit-code");
  CHECK(json["advice"].get<std::string>().find("port") != std::string::npos);
  CHECK(json["last_lines"].get<std::string>().find("Address already in use") != std::string::npos);
}

}  // namespace
}  // namespace muster::platform
