#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/wire/journal.h"

namespace muster::platform {

/// What is known of one host of a job that is over.
struct HostFacts {
  std::string host;
  std::optional<job::Verdict> word;  ///< The job's verdict as the host's `train` reported it.
  UnixMillis word_time{0};
  std::optional<job::HostEnd> end;  ///< The steward's exact word about the host itself.
  UnixMillis end_time{0};  ///< When the host was seen to end; before its results were kept.
  std::optional<job::Outcome> steward;  ///< How its steward ended; none if it still lives.
  UnixMillis steward_time{0};
  /// The engine's word that the host is gone, since `steward_time`: lost, or taken away for others.
  std::optional<job::Outcome> gone;
  std::string trouble;  ///< The last error that its steward logged.
  bool killed = false;  ///< We killed it, so its end means nothing.
};

/// The verdict over all hosts, in the order of the job's: the first is the leader. Its own first
/// cause (host/coordinate/first_cause.h) comes in here as every host's word.
///
/// 1. What was seen beats what others suspect: by a steward itself (a host that was killed or could
///    not be started, a `train` that died without a word, a steward that died), or by the engine (a
///    host that is lost, or was taken away for others).
/// 2. What was said, a host's word about a rank or a program, stands unless 1 happened before it
///    was said; the leader's before others'.
/// 3. Of hosts that are only suspected, since others say that they are lost, the one that most
///    hosts accuse is the one; at a tie the leader is believed.
/// 4. Without any of these all hosts ended well: success.
///
/// Pure. Source: docs/protocols/first-cause.md.
job::Verdict verdict_over(const std::vector<HostFacts>& hosts);

/// The verdict in one line for a person; says where memory ran out.
std::string reason_of(const job::Verdict& verdict, const std::vector<HostFacts>& hosts);

}  // namespace muster::platform
