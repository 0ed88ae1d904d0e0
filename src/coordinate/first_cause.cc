#include "coordinate/first_cause.h"

#include <csignal>
#include <utility>

namespace muster::coordinate {
namespace {

// Lower wins. The header says why each stands where it does.
enum Class : int { crash = 1, rank_killed, own_exit, broken_pipe, launcher_exit, asked_to_end };

int class_of_signal(int signal, bool is_rank) {
  switch (signal) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return asked_to_end;
    case SIGPIPE:
      return broken_pipe;
    case SIGKILL:
      return is_rank ? rank_killed : crash;
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
      return class_of_signal(verdict.outcome.number, is_rank);
    case job::Outcome::Kind::failed:
      return own_exit;
    case job::Outcome::Kind::exited:
      return is_rank ? own_exit : launcher_exit;
  }
  return launcher_exit;
}

}  // namespace

void FirstCause::add(job::Verdict verdict, TimePoint now) {
  if (verdict.success() || decide(now)) return;
  const int rank = class_of(verdict);
  if (!best_) closes_ = now + options_.window;
  if (best_ && class_ <= rank) return;
  best_ = std::move(verdict);
  class_ = rank;
}

std::optional<job::Verdict> FirstCause::decide(TimePoint now) const {
  if (best_ && (class_ == crash || now >= closes_)) return best_;
  return std::nullopt;
}

std::optional<TimePoint> FirstCause::next_deadline() const {
  if (!best_) return std::nullopt;
  return closes_;
}

}  // namespace muster::coordinate
