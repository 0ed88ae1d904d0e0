#include "host/coordinate/first_cause.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::coordinate {
namespace {

// Lower wins. The header explains the order.
enum Class : int {
  crash = 1,
  rank_killed,
  own_exit,
  broken_pipe,
  ended_by_somebody,
  rank_blames,
  launcher_exit,
  launcher_blames,
  asked_to_end
};

int class_of_signal(int signal, const job::Verdict& verdict) {
  switch (signal) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return verdict.error.empty() ? asked_to_end : ended_by_somebody;
    case SIGPIPE:
      return broken_pipe;
    case SIGKILL:
      if (verdict.rank < 0) return crash;
      return verdict.unseen ? ended_by_somebody : rank_killed;
    default:
      return crash;
  }
}

int class_of(const job::Verdict& verdict) {
  const bool is_rank = verdict.rank >= 0;
  switch (verdict.outcome.kind) {
    case job::Outcome::Kind::lost:
      return crash;
    case job::Outcome::Kind::signaled:
      if (verdict.blames_peer) return is_rank ? rank_blames : launcher_blames;
      return class_of_signal(verdict.outcome.number, verdict);
    case job::Outcome::Kind::failed:
      return own_exit;
    case job::Outcome::Kind::exited:
      if (verdict.blames_peer) return is_rank ? rank_blames : launcher_blames;
      return is_rank ? own_exit : launcher_exit;
  }
  return launcher_exit;
}

}  // namespace

void FirstCause::add(job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  if (verdict.success() || decide(now)) return;
  int rank = class_of(verdict);
  if (!best_) opened_ = now;
  if (best_ && rank == rank_killed && now >= opened_ + options_.window)
    rank = verdict.error.empty() ? asked_to_end : ended_by_somebody;
  if (best_ && class_ <= rank) return;
  best_ = std::move(verdict);
  class_ = rank;
}

void FirstCause::all_ended(TimePoint now) {
  time_.advance(now);
  if (!all_ended_) all_ended_ = now;
}

TimePoint FirstCause::closes() const {
  const bool blames = class_ == rank_blames || class_ == launcher_blames;
  if (!blames) return opened_ + options_.window;
  const TimePoint latest = opened_ + options_.blaming_window;
  return all_ended_ ? std::min(latest, std::max(opened_, *all_ended_) + options_.window) : latest;
}

std::optional<job::Verdict> FirstCause::decide(TimePoint now) const {
  if (best_ && (class_ == crash || now >= closes())) return best_;
  return std::nullopt;
}

std::optional<job::Verdict> FirstCause::so_far() const {
  return best_ && class_ < asked_to_end ? best_ : std::nullopt;
}

std::optional<TimePoint> FirstCause::next_deadline() const {
  if (!best_) return std::nullopt;
  return closes();
}

}  // namespace muster::coordinate
