#include "platform/reach.h"

namespace muster::platform {

ReachWatch::ReachWatch(loop::Tasks& tasks, engine::Run& run)
    : tasks_(tasks), run_(run), hosts_(run.hosts().size()) {}

Reach ReachWatch::look(TimePoint now) {
  Reach reach;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (!host.owes_since) {
      host.owes_since = now;
      tasks_.start(ask(i));
    }
    const bool silent = host.owes_since && now - *host.owes_since >= silent_after;
    if (host.owes_since || host.answers) ++reach.asked;
    if (silent) ++reach.silent;
  }
  return reach;
}

/// One question at a time: a steward that is stopped has no more than one connection waiting.
loop::Task<> ReachWatch::ask(std::size_t index) {
  const Result<engine::Answer> answer =
      co_await run_.ask(run_.hosts()[index], engine::Question::alive);
  hosts_[index] = {.owes_since = std::nullopt, .answers = answer.has_value()};
}

std::string silence_text(const Reach& reach) {
  if (reach.silent == 0) return {};
  return std::to_string(reach.silent) + " of " + std::to_string(reach.asked) +
         (reach.asked == 1 ? " steward" : " stewards") +
         (reach.silent == 1 ? " does not respond" : " do not respond");
}

}  // namespace muster::platform
