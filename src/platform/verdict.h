#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/journal.h"

namespace muster::platform {

/// Known facts about one host of a finished job.
struct HostFacts {
  std::string host;
  std::optional<job::Verdict> word;  ///< The job's verdict as the host's `train` reported it.
  UnixMillis word_time{0};
  std::optional<job::HostEnd> end;  ///< The steward's exact report about the host itself.
  UnixMillis end_time{0};  ///< When the host was seen to end; before its results were kept.
  std::optional<job::Outcome> steward;  ///< How its steward ended; none if it still lives.
  UnixMillis steward_time{0};
  /// The engine's report that the host is gone since `steward_time`: lost or preempted.
  std::optional<job::Outcome> gone;
  std::string trouble;  ///< The last error that its steward logged.
  bool killed = false;  ///< We killed it, so its end means nothing.
};

/// The verdict over all hosts, in the job's order: the first is the leader. The leader's first
/// cause (host/coordinate/first_cause.h) reaches this function as the word of every host.
///
/// 1. Observations have priority over suspicions of other hosts. A steward observes a host that was
///    killed or could not be started, or a `train` that died without a word; a steward's own death
///    counts, too. The engine observes a host that is lost or preempted.
/// 2. A host's word about a rank or a program counts, unless an event of 1 happened before the
///    word. The leader's word has priority over others'.
/// 3. If hosts are only suspected, because others report them as lost, the one that most hosts
///    accuse is blamed. At a tie, the leader's word counts.
/// 4. If none of these apply, all hosts succeeded: success.
///
/// Pure. Source: docs/protocols/first-cause.md.
job::Verdict verdict_over(const std::vector<HostFacts>& hosts);

/// The verdict in one line for a person; names the place where memory ran out.
std::string reason_of(const job::Verdict& verdict, const std::vector<HostFacts>& hosts);

}  // namespace muster::platform
