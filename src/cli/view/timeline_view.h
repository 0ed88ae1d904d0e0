#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/wire/timeline.h"

namespace muster::cli {

/// A job's timeline for people: each host's phases up to its first line as a waterfall, all hosts
/// on one scale, then the later events. For more than four hosts: each phase's minimum, median and
/// maximum, with the slowest host, and the waterfall of the host whose first line came last.
/// `host`: only this one, unless it is empty. Pure.
std::string timeline_text(const job::JobTimeline& timeline, const std::string& host);

/// The duration of each phase on hosts of two jobs. Phases that one of them lacks are left out.
struct Comparison {
  struct Phase {
    job::Point until = job::Point::launched;
    UnixMillis took{0};
    UnixMillis other_took{0};
  };
  std::string host;
  std::string other_job;
  std::string other_host;
  std::vector<Phase> phases;
};
/// Compares the slowest host of each job, or `host` of `timeline` if it is not empty. The slowest
/// host is the one whose first line came last. None if one of the jobs has no such host. Pure.
std::optional<Comparison> comparison_of(const job::JobTimeline& timeline,
                                        const job::JobTimeline& other, const std::string& host);
/// For people: one line per phase, "inputs  0.190   +0.150". Pure.
std::string comparison_text(const Comparison& comparison);
/// {job, host, other_host, phases: [{point, ms, other_ms}]}: docs/protocols/timeline.md.
Json to_json(const Comparison& comparison);

/// Chrome's trace format, which Perfetto opens: one process per host, one event per phase, times in
/// microseconds since the job's submission. Pure. Source: the trace event format, complete events
/// ("ph": "X").
std::string trace_text(const job::JobTimeline& timeline);

}  // namespace muster::cli
