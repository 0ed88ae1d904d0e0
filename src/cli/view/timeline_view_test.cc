#include "cli/view/timeline_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::cli {
namespace {

using job::HostTimeline;
using job::JobTimeline;
using job::Point;

HostTimeline host(int number, std::vector<std::pair<Point, int>> points) {
  HostTimeline timeline{.host = "algo-" + std::to_string(number)};
  for (const auto& [point, ms] : points)
    timeline.at[static_cast<std::size_t>(point)] = UnixMillis(1000 + ms);
  return timeline;
}

JobTimeline two_hosts() {
  JobTimeline timeline{"mnist", UnixMillis(1000), {}};
  timeline.hosts.push_back(host(1, {{Point::launched, 10},
                                    {Point::inputs, 50},
                                    {Point::rank, 90},
                                    {Point::first_line, 100},
                                    {Point::last_line, 2500},
                                    {Point::stored, 2600}}));
  timeline.hosts.push_back(host(2, {{Point::launched, 10}, {Point::inputs, 200}}));
  timeline.hosts[0].input_bytes = 2'500'000;
  return timeline;
}

TEST_CASE("timeline view: hosts share one scale, and times after the first line have no bar") {
  CHECK(timeline_text(two_hosts(), "") ==
        "mnist: 2 hosts, 0.100 s to the first line, 2.600 s in total\n"
        "\n"
        "algo-1\n"
        "  queued              0.010  ██\n"
        "  inputs              0.040    ████████ 2.5 MB\n"
        "  launcher            0.040            ████████\n"
        "  first line          0.010                    ██\n"
        "  running             2.400\n"
        "  results             0.100\n"
        "\n"
        "algo-2\n"
        "  queued              0.010  ██\n"
        "  inputs              0.190    ██████████████████████████████████████\n");
}

TEST_CASE("timeline view: one host alone, and one that is not there") {
  CHECK(timeline_text(two_hosts(), "algo-2")
            .starts_with("mnist: 1 host, 0.200 s in total\n\nalgo-2"));
  CHECK(timeline_text(two_hosts(), "algo-3").empty());
}

TEST_CASE("timeline view: many hosts are summed up, and the slowest is shown") {
  JobTimeline timeline{"j", UnixMillis(1000), {}};
  for (int i = 1; i <= 9; ++i)
    timeline.hosts.push_back(host(i, {{Point::launched, i}, {Point::first_line, 100 + 10 * i}}));
  const std::string text = timeline_text(timeline, "");
  CHECK(text.find("      min   median      max\n") != std::string::npos);
  CHECK(text.find("queued              0.001    0.005    0.009  algo-9\n") != std::string::npos);
  CHECK(text.find("\nlast host to print its first line: algo-9\n") != std::string::npos);
  CHECK(text.find("\nalgo-1\n") == std::string::npos);
}

TEST_CASE("timeline view: a host that has not begun, and names that would order a terminal about") {
  JobTimeline timeline{"j", UnixMillis(1000), {host(1, {})}};
  CHECK(timeline_text(timeline, "") == "j: 1 host, 0.000 s in total\n\nalgo-1\n");
  timeline.hosts[0].host = "\x1b[2J";
  CHECK(timeline_text(timeline, "").find('\x1b') == std::string::npos);
}

TEST_CASE("timeline view: the slowest hosts of two jobs are compared in what both have done") {
  JobTimeline other{"before", UnixMillis(1000), {}};
  other.hosts.push_back(host(1, {{Point::launched, 5}, {Point::first_line, 20}}));
  other.hosts.push_back(host(2, {{Point::launched, 10}, {Point::root, 20}, {Point::inputs, 1260}}));
  const std::optional<Comparison> slowest = comparison_of(two_hosts(), other, "");
  REQUIRE(slowest);
  CHECK(comparison_text(*slowest) ==
        "algo-2 against algo-2 of before:\n"
        "  queued              0.010    +0.000\n"
        "  inputs              0.190    -1.050\n");
  CHECK(to_text(to_json(*slowest)["phases"][1]) ==
        R"({"ms":190,"other_ms":1240,"point":"inputs"})");
  CHECK(comparison_of(other, two_hosts(), "algo-1")->phases.size() == 1);
  CHECK(comparison_text(*comparison_of(other, two_hosts(), "")).find("+1.050") !=
        std::string::npos);
  CHECK_FALSE(comparison_of(two_hosts(), other, "algo-3"));
  CHECK_FALSE(comparison_of(two_hosts(), JobTimeline{}, ""));
}

TEST_CASE("timeline view: a trace has an event for each phase, in microseconds") {
  const Json trace = *parse_json(trace_text(two_hosts()));
  const Json& events = trace["traceEvents"];
  REQUIRE(events.size() == 2 + 6 + 2);
  CHECK(events[0] ==
        Json{{"ph", "M"}, {"name", "process_name"}, {"pid", 1}, {"args", {{"name", "algo-1"}}}});
  CHECK(events[2] == Json{{"ph", "X"},
                          {"name", "inputs"},
                          {"cat", "start"},
                          {"pid", 1},
                          {"tid", 0},
                          {"ts", 10'000},
                          {"dur", 40'000}});
  CHECK(events[5]["cat"] == "run");
}

}  // namespace
}  // namespace muster::cli
