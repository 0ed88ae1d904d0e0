#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/wire/timeline.h"

namespace muster::cli {

/// A job's timeline for people: for each host the phases up to its first line as a waterfall, all
/// hosts on one scale, then what came after. Beyond four hosts, or where `host` is empty and
/// there are more: each phase's least, median and most, with the host that took longest, and the
/// waterfall of the host whose first line came last. `host`: that one alone. Pure.
std::string timeline_text(const job::JobTimeline& timeline, const std::string& host);

/// How long each phase took on a host of one job and on a host of another; phases that one of both
/// has not are left out.
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
/// The slowest host of each job, or `host` of `timeline`'s where that is not empty; slowest: whose
/// first line came last. None where one of both has no such host. Pure.
std::optional<Comparison> comparison_of(const job::JobTimeline& timeline,
                                        const job::JobTimeline& other, const std::string& host);
/// For people: a line for each phase, "inputs  0.190   +0.150". Pure.
std::string comparison_text(const Comparison& comparison);
/// {job, host, other_host, phases: [{point, ms, other_ms}]}: docs/protocols/timeline.md.
Json to_json(const Comparison& comparison);

/// Chrome's trace format, as Perfetto opens it: a process for each host, an event for each phase,
/// times in microseconds from the job's submission on. Pure. Source: the trace event format,
/// complete events ("ph": "X").
std::string trace_text(const job::JobTimeline& timeline);

}  // namespace muster::cli
