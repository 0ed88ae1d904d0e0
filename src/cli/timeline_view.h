#pragma once

#include <string>

#include "job/timeline.h"

namespace muster::cli {

/// A job's timeline for people: for each host the phases up to its first line as a waterfall, all
/// hosts on one scale, then what came after. Beyond four hosts, or where `host` is empty and
/// there are more: each phase's least, median and most, with the host that took longest, and the
/// waterfall of the host whose first line came last. `host`: that one alone. Pure.
std::string timeline_text(const job::JobTimeline& timeline, const std::string& host);

/// Chrome's trace format, as Perfetto opens it: a process for each host, an event for each phase,
/// times in microseconds from the job's submission on. Pure. Source: the trace event format,
/// complete events ("ph": "X").
std::string trace_text(const job::JobTimeline& timeline);

}  // namespace muster::cli
