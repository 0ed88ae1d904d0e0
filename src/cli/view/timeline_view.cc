#include "cli/view/timeline_view.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/terminal.h"

namespace muster::cli {
namespace {

using job::Point;
using job::Stretch;

constexpr std::size_t shown_hosts_max = 4;
constexpr int bar_columns = 40;
constexpr int name_columns = 16;

struct HostPhases {
  const job::HostTimeline* host = nullptr;
  std::vector<Stretch> all;
  /// From the submission to the first line; to the last point where no line came.
  UnixMillis waited{0};
};

bool is_start(const Stretch& stretch) {
  return stretch.until <= Point::first_line;
}

std::string seconds(UnixMillis time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(time.count()) / 1e3);
  return text.data();
}

/// `text` in so many columns; phases' names are ASCII.
std::string padded(std::string text, int columns, bool right = false) {
  const std::size_t width = static_cast<std::size_t>(columns);
  if (text.size() < width) text.insert(right ? 0 : text.size(), width - text.size(), ' ');
  return text;
}

std::string megabytes(std::int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text.data();
}

HostPhases phases_of(const job::HostTimeline& host, UnixMillis submitted) {
  HostPhases phases{&host, job::stretches(host, submitted), UnixMillis(0)};
  for (const Stretch& each : phases.all)
    if (is_start(each)) phases.waited = each.end - submitted;
  return phases;
}

/// The position of a time in a bar of `bar_columns`.
int column(UnixMillis time, UnixMillis whole) {
  if (whole.count() <= 0) return 0;
  return static_cast<int>(time.count() * bar_columns / whole.count());
}

/// A phase's line: a phase that was there has at least one column.
std::string bar_line(const Stretch& stretch, UnixMillis submitted, UnixMillis whole) {
  const int begin = std::min(column(stretch.begin - submitted, whole), bar_columns - 1);
  const int end = std::max(begin + 1, column(stretch.end - submitted, whole));
  std::string bar(static_cast<std::size_t>(begin), ' ');
  for (int i = begin; i < end; ++i) bar += "\u2588";
  return bar;
}

std::string host_text(const HostPhases& phases, UnixMillis submitted, UnixMillis whole) {
  std::string text = visible_line(phases.host->host);
  if (phases.host->attempt > 1) text += ", attempt " + std::to_string(phases.host->attempt);
  text += "\n";
  for (const Stretch& each : phases.all) {
    text += "  " + padded(std::string(job::phase_before(each.until)), name_columns) +
            padded(seconds(each.end - each.begin), 9, true);
    if (is_start(each)) text += "  " + bar_line(each, submitted, whole);
    if (each.until == Point::inputs && phases.host->input_bytes > 0)
      text += " " + megabytes(phases.host->input_bytes);
    text += "\n";
  }
  return text;
}

std::vector<HostPhases>::const_iterator slowest_of(const std::vector<HostPhases>& hosts) {
  return std::max_element(hosts.begin(), hosts.end(), [](const HostPhases& a, const HostPhases& b) {
    return a.waited < b.waited;
  });
}

/// All hosts, or the one that is named.
std::vector<HostPhases> phases_of(const job::JobTimeline& timeline, const std::string& host) {
  std::vector<HostPhases> hosts;
  for (const job::HostTimeline& each : timeline.hosts)
    if (host.empty() || each.host == host) hosts.push_back(phases_of(each, timeline.submitted));
  return hosts;
}

/// "+1.250", "-0.300".
std::string signed_seconds(UnixMillis time) {
  return (time.count() < 0 ? "-" : "+") + seconds(UnixMillis(std::abs(time.count())));
}

/// A line for each phase over many hosts.
std::string summary_text(const std::vector<HostPhases>& hosts) {
  std::map<Point, std::vector<std::pair<UnixMillis, std::string>>> by_phase;
  for (const HostPhases& each : hosts)
    for (const Stretch& stretch : each.all)
      by_phase[stretch.until].emplace_back(stretch.end - stretch.begin, each.host->host);
  std::string text = padded("", name_columns + 2) + "      min   median      max\n";
  for (auto& [until, times] : by_phase) {
    std::sort(times.begin(), times.end());
    text += "  " + padded(std::string(job::phase_before(until)), name_columns) +
            padded(seconds(times.front().first), 9, true) +
            padded(seconds(times[times.size() / 2].first), 9, true) +
            padded(seconds(times.back().first), 9, true) + "  " +
            visible_line(times.back().second) + "\n";
  }
  return text;
}

/// What is known of all hosts together, as a line.
std::string head_text(const job::JobTimeline& timeline, const std::vector<HostPhases>& hosts) {
  std::optional<UnixMillis> first_line;
  UnixMillis last{0};
  for (const HostPhases& each : hosts)
    for (const Stretch& stretch : each.all) {
      const UnixMillis since = stretch.end - timeline.submitted;
      if (stretch.until == Point::first_line)
        first_line = first_line ? std::min(*first_line, since) : since;
      last = std::max(last, since);
    }
  std::string text = visible_line(timeline.job) + ": " + std::to_string(hosts.size()) +
                     (hosts.size() == 1 ? " host" : " hosts");
  if (first_line) text += ", " + seconds(*first_line) + " s to the first line";
  return text + ", " + seconds(last) + " s in total\n";
}

}  // namespace

std::string timeline_text(const job::JobTimeline& timeline, const std::string& host) {
  const std::vector<HostPhases> hosts = phases_of(timeline, host);
  if (hosts.empty()) return {};
  const auto slowest = slowest_of(hosts);
  const UnixMillis whole = slowest->waited;
  std::string text = head_text(timeline, hosts);
  if (hosts.size() > shown_hosts_max)
    return text + "\n" + summary_text(hosts) +
           "\nlast host to print its first line: " + host_text(*slowest, timeline.submitted, whole);
  for (const HostPhases& each : hosts) text += "\n" + host_text(each, timeline.submitted, whole);
  return text;
}

std::optional<Comparison> comparison_of(const job::JobTimeline& timeline,
                                        const job::JobTimeline& other, const std::string& host) {
  const std::vector<HostPhases> ours = phases_of(timeline, host);
  const std::vector<HostPhases> others = phases_of(other, "");
  if (ours.empty() || others.empty()) return std::nullopt;
  const auto one = slowest_of(ours);
  const auto two = slowest_of(others);
  Comparison comparison{one->host->host, other.job, two->host->host, {}};
  for (const Stretch& a : one->all)
    for (const Stretch& b : two->all)
      if (a.until == b.until)
        comparison.phases.push_back({a.until, a.end - a.begin, b.end - b.begin});
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = visible_line(comparison.host) + " against " +
                     visible_line(comparison.other_host) + " of " +
                     visible_line(comparison.other_job) + ":\n";
  for (const Comparison::Phase& each : comparison.phases)
    text += "  " + padded(std::string(job::phase_before(each.until)), name_columns) +
            padded(seconds(each.took), 9, true) +
            padded(signed_seconds(each.took - each.other_took), 10, true) + "\n";
  return text;
}

Json to_json(const Comparison& comparison) {
  Json phases = Json::array();
  for (const Comparison::Phase& each : comparison.phases)
    phases.push_back(Json{{"point", std::string(job::point_name(each.until))},
                          {"ms", each.took.count()},
                          {"other_ms", each.other_took.count()}});
  return Json{{"job", comparison.other_job},
              {"host", comparison.host},
              {"other_host", comparison.other_host},
              {"phases", std::move(phases)}};
}

std::string trace_text(const job::JobTimeline& timeline) {
  Json events = Json::array();
  int process = 0;
  for (const job::HostTimeline& host : timeline.hosts) {
    ++process;
    events.push_back(Json{{"ph", "M"},
                          {"name", "process_name"},
                          {"pid", process},
                          {"args", Json{{"name", host.host}}}});
    for (const Stretch& each : job::stretches(host, timeline.submitted)) {
      const auto since = [&](UnixMillis time) {
        return std::chrono::microseconds(time - timeline.submitted).count();
      };
      events.push_back(Json{{"ph", "X"},
                            {"name", std::string(job::phase_before(each.until))},
                            {"cat", is_start(each) ? "start" : "run"},
                            {"pid", process},
                            {"tid", 0},
                            {"ts", since(each.begin)},
                            {"dur", since(each.end) - since(each.begin)}});
    }
  }
  return to_text(Json{{"traceEvents", std::move(events)},
                      {"displayTimeUnit", "ms"},
                      {"otherData", Json{{"job", timeline.job}}}}) +
         "\n";
}

}  // namespace muster::cli
