#include "platform/verdict.h"

#include <csignal>
#include <map>

namespace muster::platform {
namespace {

constexpr int signals_max = 64;  ///< An exit code above 128 plus this is not a signal's.

using Kind = job::Outcome::Kind;

struct Cause {
  job::Verdict verdict;
  UnixMillis time{0};
};

Cause cause(const HostFacts& facts, const char* process, job::Outcome outcome, UnixMillis time) {
  Cause found;
  found.verdict.outcome = std::move(outcome);
  found.verdict.host = facts.host;
  found.verdict.process = process;
  found.time = time;
  return found;
}

bool failing(const std::optional<job::Verdict>& word) {
  return word && !word->success();
}

/// The host went before it could end by itself: what it said after that is a consequence.
bool gone_first(const HostFacts& facts) {
  if (!facts.gone) return false;
  if (!facts.end || facts.end->outcome.success()) return true;
  // Asked to end by who took it away: clocks of two machines say nothing better.
  return facts.end->stopped || facts.steward_time <= facts.end_time;
}

/// Certain facts from the engine, from the host's own steward, or from the steward's death.
std::optional<Cause> certain_cause(const HostFacts& facts) {
  if (facts.killed) return std::nullopt;
  if (gone_first(facts)) return cause(facts, "host", *facts.gone, facts.steward_time);
  if (!facts.end) {
    if (!facts.steward) return std::nullopt;
    if (facts.steward->success() && !failing(facts.word))
      return cause(facts, "steward", job::Outcome::failed("exited without reporting a result"),
                   facts.steward_time);
    if (facts.steward->success()) return std::nullopt;
    return cause(facts, "steward", *facts.steward, facts.steward_time);
  }
  const job::Outcome& outcome = facts.end->outcome;
  if (outcome.success() && facts.steward && !facts.steward->success())
    return cause(facts, "steward",
                 facts.trouble.empty() ? *facts.steward : job::Outcome::failed(facts.trouble),
                 facts.steward_time);
  if (facts.end->stopped || outcome.success()) return std::nullopt;
  if (outcome.kind == Kind::signaled || outcome.kind == Kind::failed)
    return cause(facts, "host", outcome, facts.end_time);
  // The host's init ends as its `train` did. One that failed says why first, unless it was killed.
  if (failing(facts.word)) return std::nullopt;
  const bool by_signal =
      outcome.kind == Kind::exited && outcome.number > 128 && outcome.number <= 128 + signals_max;
  return cause(facts, "train", by_signal ? job::Outcome::signaled(outcome.number - 128) : outcome,
               facts.end_time);
}

std::optional<Cause> earliest_certain(const std::vector<HostFacts>& hosts) {
  std::optional<Cause> first;
  for (const HostFacts& facts : hosts)
    if (std::optional<Cause> found = certain_cause(facts);
        found && (!first || found->time < first->time))
      first = std::move(found);
  return first;
}

/// A word about something that was seen to end: the leader's, else the first one said. One that was
/// stopped on request (`stops`) is no cause where there is another.
std::optional<Cause> reported_cause(const std::vector<HostFacts>& hosts, bool stops) {
  std::optional<Cause> first;
  for (const HostFacts& facts : hosts) {
    if (!failing(facts.word) || facts.word->outcome.kind == Kind::lost) continue;
    if (facts.word->outcome.is_stopped() != stops) continue;
    if (&facts == &hosts.front()) return Cause{*facts.word, facts.word_time};
    if (!first || facts.word_time < first->time) first = Cause{*facts.word, facts.word_time};
  }
  return first;
}

/// The host that most others say is lost.
std::optional<Cause> accused(const std::vector<HostFacts>& hosts) {
  std::map<std::string, int> votes;
  for (const HostFacts& facts : hosts)
    if (failing(facts.word) && facts.word->outcome.kind == Kind::lost) ++votes[facts.word->host];
  std::optional<Cause> best;
  int best_votes = 0;
  for (const HostFacts& facts : hosts) {  // The leader comes first: at a tie its word stays.
    if (!failing(facts.word) || facts.word->outcome.kind != Kind::lost) continue;
    const int count = votes[facts.word->host];
    if (count > best_votes) best = Cause{*facts.word, facts.word_time};
    if (count > best_votes) best_votes = count;
  }
  return best;
}

}  // namespace

job::Verdict verdict_over(const std::vector<HostFacts>& hosts) {
  const std::optional<Cause> seen = earliest_certain(hosts);
  const std::optional<Cause> said = reported_cause(hosts, false);
  if (seen && said) return seen->time < said->time ? seen->verdict : said->verdict;
  if (seen) return seen->verdict;
  if (said) return said->verdict;
  if (const std::optional<Cause> stopped = reported_cause(hosts, true)) return stopped->verdict;
  if (const std::optional<Cause> lost = accused(hosts)) return lost->verdict;
  for (const HostFacts& facts : hosts)
    if (facts.killed)
      return cause(facts, "host", job::Outcome::failed("killed: it did not exit in time"), {})
          .verdict;
  for (const HostFacts& facts : hosts)
    if (facts.end && !facts.end->outcome.success())  // Stopped, yet no word of why.
      return cause(facts, "host", facts.end->outcome, facts.end_time).verdict;
  return {};
}

std::string reason_of(const job::Verdict& verdict, const std::vector<HostFacts>& hosts) {
  std::string reason = job::describe(verdict);
  for (const HostFacts& facts : hosts) {
    if (!facts.end || !facts.end->out_of_memory) continue;
    const bool here = facts.host == verdict.host && verdict.outcome.kind == Kind::signaled &&
                      verdict.outcome.number == SIGKILL;
    reason += here ? " (out of memory)" : "; " + facts.host + " ran out of memory";
  }
  for (const HostFacts& facts : hosts)
    for (const std::string& overrun : facts.end ? facts.end->overruns : std::vector<std::string>())
      reason += "; " + facts.host + ": " + overrun;
  return reason;
}

}  // namespace muster::platform
