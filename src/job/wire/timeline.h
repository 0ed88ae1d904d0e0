#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "job/wire/journal.h"
#include "job/wire/mark.h"

namespace muster::job {

/// The points of a host's life, in order: each ends the phase before it.
enum class Point {
  launched,  ///< The steward runs.
  root,      ///< As Mark, from here to `rank`.
  inputs,
  begun,
  joined,
  gathered,
  checked,
  code,
  packages,
  worked,  ///< Mark::launched.
  rank,
  first_line,    ///< The first line of a rank; of any program where the host has no `train`.
  first_metric,  ///< The first line with one of the job's metrics; set by the code that knows the
                 ///< metrics.
  last_line,
  ended,   ///< The host's first process has ended.
  stored,  ///< What the host left is in place.
};
constexpr std::size_t point_count = 16;

/// "launched", "root", ...
std::string_view point_name(Point point);
/// The phase that `point` ends, for people: "queued", "root file system", ...
std::string_view phase_before(Point point);

/// What one host did, and when, in its latest attempt.
struct HostTimeline {
  std::string host;
  int attempt = 1;
  std::int64_t input_bytes = -1;  ///< Bytes downloaded from S3; -1: unknown.
  std::optional<UnixMillis> at[point_count]{};

  const std::optional<UnixMillis>& when(Point point) const {
    return at[static_cast<std::size_t>(point)];
  }
  std::optional<UnixMillis>& when(Point point) { return at[static_cast<std::size_t>(point)]; }
  bool operator==(const HostTimeline&) const = default;
};

/// Makes a timeline of a host's records. Pure.
class TimelineReader {
 public:
  explicit TimelineReader(std::string host) { timeline_.host = std::move(host); }
  void take(const Record& record);
  const HostTimeline& timeline() const { return timeline_; }

 private:
  void set(Point point, UnixMillis time);
  void set_last(Point point, UnixMillis time);
  void take_lines(const Record& record);
  void take_phase(const Record& record);

  HostTimeline timeline_;
  bool alone_ = false;  ///< Lines of rank -1 are the program's: no `train` has shown itself yet.
};

/// A stretch of a host's life; two that follow each other touch.
struct Stretch {
  Point until = Point::launched;
  UnixMillis begin{0};
  UnixMillis end{0};
};

/// From `submitted` to the last point that the host has reached, without a gap: lengths add up to
/// the whole. A point before an earlier one (a clock was set) counts as that one.
std::vector<Stretch> stretches(const HostTimeline& host, UnixMillis submitted);

/// What all hosts of a job did.
struct JobTimeline {
  std::string job;
  UnixMillis submitted{0};
  std::vector<HostTimeline> hosts;

  bool operator==(const JobTimeline&) const = default;
};

/// {job, submitted_ms, hosts: [{host, attempt, input_bytes, points: [{point, ms}]}]}; ms since
/// 1970. docs/protocols/timeline.md.
Json to_json(const JobTimeline& timeline);
/// Error: `protocol`.
Result<JobTimeline> job_timeline_from(const Json& json);

}  // namespace muster::job
