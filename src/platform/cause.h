#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/journal.h"
#include "job/wire/timeline.h"

namespace muster::platform {

/// Why a job failed, as one card: who failed first, when, while doing what, and who failed because
/// of it.
struct Cause {
  job::Verdict verdict;
  UnixMillis time{0};    ///< When that process ended; 0: not known.
  UnixMillis after{0};   ///< Since its host's start; meaningless without `time`.
  std::string doing{};   ///< What its host was at: "running"; empty: not known.
  int victims = 0;       ///< Ranks that ended badly after it.
  UnixMillis within{0};  ///< From it to the last of them.
};

/// {host, process, rank, outcome, time_ms, after_ms, doing, victims, within_ms, last_lines,
/// command, advice, topic}; docs/protocols/outcome.md. What is not known is left out.
Json to_json(const Cause& cause);

/// Collects what a Cause needs from the records of all hosts. Pure.
class CauseReader {
 public:
  void take(const std::string& host, const job::Record& record);
  /// The card for the job's verdict, which must be a failure.
  Cause cause_of(const job::Verdict& verdict) const;
  /// Hosts by name, as far as they have records.
  std::vector<job::HostTimeline> timelines() const;

 private:
  struct End {
    std::string host;
    std::string process;
    int rank = -1;
    UnixMillis time{0};
  };
  /// More ends than this are not counted.
  static constexpr std::size_t ends_max = 300'000;

  std::vector<End> ends_;  ///< Processes that ended badly, in the order read.
  std::map<std::string, job::TimelineReader> timelines_;
};

}  // namespace muster::platform
