#include "host/coordinate/member_call.h"

#include <algorithm>

#include "job/wire/message.h"

namespace muster::coordinate {
namespace {

using job::Message;
using job::type_of;

constexpr Duration attempt_max = std::chrono::seconds(10);
constexpr Duration verdict_wait = std::chrono::seconds(5);  ///< For the leader's verdict.
constexpr int own_pause_intervals = 3;  ///< More between two steps: we were stopped.

}  // namespace

MemberCall::MemberCall(Options options, TimePoint now)
    : options_(std::move(options)),
      time_(now),
      deadline_(now + options_.join_deadline),
      opened_at_(now),
      last_step_(now),
      next_say_(now + options_.say_trouble_after),
      backoff_(options_.backoff),
      chance_(options_.seed) {}

void MemberCall::begin(TimePoint now) {
  time_.advance(now);
  if (stage_ == Stage::idle) connect(now);
}

void MemberCall::connect(TimePoint now) {
  stage_ = Stage::connecting;
  actions_.push_back(
      {.kind = Action::Kind::connect, .deadline = std::min(deadline_, now + attempt_max)});
}

void MemberCall::connected(TimePoint now) {
  time_.advance(now);
  if (stage_ != Stage::connecting) return;
  stage_ = Stage::joining;
  heard_ = now;
  next_beat_ = now + options_.heartbeat;
  send(type_of(Message::join), encode(options_.join));
}

void MemberCall::not_connected(const Error& why, TimePoint now) {
  time_.advance(now);
  if (stage_ != Stage::connecting) return;
  // Retry also if this host's key is refused: the answer may be from another process that got the
  // port first.
  if (why.code == Errc::denied) refused_ = why.text;
  try_again(why.text, now);
}

// The leader's message.

bool MemberCall::frame(const Frame& frame, TimePoint now) {
  time_.advance(now);
  if (!in_session()) return false;
  heard_ = now;
  if (frame.type == type_of(Message::heartbeat)) return false;
  if (frame.type == type_of(Message::refuse)) {
    on_refuse(frame, now);
    return false;
  }
  if (stage_ == Stage::joining && frame.type == type_of(Message::welcome)) {
    on_welcome(frame, now);
    return false;
  }
  if (stage_ == Stage::started && frame.type > type_of(Message::start)) return true;
  if (stage_ == Stage::welcomed && frame.type == type_of(Message::start)) return on_start(frame);
  close();
  hang_up("it sent message " + std::to_string(frame.type) + " out of turn", now);
  return false;
}

bool MemberCall::on_start(const Frame&) {
  stage_ = Stage::started;
  actions_.push_back({.kind = Action::Kind::started});
  return true;
}

void MemberCall::on_welcome(const Frame& frame, TimePoint now) {
  const Result<Welcome> welcome = welcome_from(frame.payload);
  if (!welcome) {
    close();
    return hang_up(welcome.error().text, now);
  }
  if (welcome->version != wire_version) {
    close();
    return give_up(Errc::denied, leader_text() + " (muster " + welcome->muster + ") uses version " +
                                     std::to_string(welcome->version) +
                                     " of the roll call protocol, " + options_.join.host +
                                     " (muster " + options_.join.muster + ") uses version " +
                                     std::to_string(wire_version));
  }
  stage_ = Stage::welcomed;
  was_welcome_ = true;
  backoff_.reset();
  // The leader's deadline decides, because the leader knows which hosts are missing.
  deadline_ = std::max(deadline_, now + welcome->wait + verdict_wait);
  next_say_ = now + options_.say_waiting_every;
  actions_.push_back({.kind = Action::Kind::say,
                      .text = "joined " + leader_text() + ", waiting for the other hosts"});
}

void MemberCall::on_refuse(const Frame& frame, TimePoint now) {
  const Result<Refuse> refuse = refuse_from(frame.payload);
  close();
  if (!refuse) return hang_up(refuse.error().text, now);
  if (stage_ == Stage::started || refuse->retry) return hang_up(refuse->why, now);
  give_up(Errc::denied, refuse->why);
}

void MemberCall::closed(const std::string& how, TimePoint now) {
  time_.advance(now);
  if (in_session()) hang_up("its session ended: " + how, now);
}

/// The session has ended, whichever side ended it.
void MemberCall::hang_up(const std::string& how, TimePoint now) {
  if (stage_ != Stage::started) return try_again(how, now);
  stage_ = Stage::over;
  if (!end_expected_) actions_.push_back({.kind = Action::Kind::lost, .text = how});
}

void MemberCall::try_again(const std::string& how, TimePoint now) {
  last_reason_ = how;
  if (stage_ == Stage::welcomed) next_say_ = now + options_.say_trouble_after;
  constexpr double span = static_cast<double>(std::minstd_rand::max()) + 1.0;
  stage_ = Stage::pausing;
  resume_ = now + backoff_.next(static_cast<double>(chance_()) / span);
}

/// What this member waits for, and how long it has waited.
void MemberCall::say_waiting(TimePoint now) {
  next_say_ = now + options_.say_waiting_every;
  const bool here = stage_ == Stage::welcomed;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - opened_at_);
  const std::string what =
      here ? "waiting for " + leader_text() + ", which waits for the other hosts"
           : leader_text() + ": " + last_reason_ + "; trying again";
  actions_.push_back(
      {.kind = Action::Kind::say,
       .text = what + " (" + spell(waited) + " of " + spell(deadline_ - opened_at_) + ")"});
}

void MemberCall::give_up(Errc code, const std::string& why) {
  stage_ = Stage::over;
  actions_.push_back({.kind = Action::Kind::fail, .error = fail(code, why)});
}

// Deadlines.

void MemberCall::step(TimePoint now) {
  time_.advance(now);
  // If the member itself was stopped, the silence of that time does not count against the leader.
  if (now - last_step_ > options_.heartbeat * own_pause_intervals) heard_ = now;
  last_step_ = now;
  if (stage_ == Stage::idle || stage_ == Stage::over) return;
  if (stage_ != Stage::started && now >= deadline_) {
    const bool close_first = in_session();
    if (close_first) close();
    const std::string waited = spell(deadline_ - opened_at_);
    const bool told = refused_.empty() || refused_ == last_reason_;
    const std::string reason = last_reason_ + (told ? "" : "; before that, " + refused_);
    return give_up(Errc::timeout,
                   was_welcome_ ? leader_text() + " did not start the job within " + waited + ": " +
                                      (close_first ? "no response from it" : last_reason_)
                                : leader_text() + " (the leader) did not respond within " + waited +
                                      ": " + reason);
  }
  if (waits() && now >= next_say_) say_waiting(now);
  if (stage_ == Stage::pausing && now >= resume_) return connect(now);
  if (!in_session()) return;
  if (now - heard_ >= options_.lost_after) {
    close();
    return hang_up("no heartbeat for " + spell(options_.lost_after), now);
  }
  if (now < next_beat_) return;
  next_beat_ = now + options_.heartbeat;
  if (stage_ != Stage::joining) send(type_of(Message::heartbeat), "{}");
}

std::optional<TimePoint> MemberCall::next_deadline() const {
  if (stage_ == Stage::idle || stage_ == Stage::over) return std::nullopt;
  if (stage_ == Stage::connecting) return std::min(deadline_, next_say_);
  if (stage_ == Stage::pausing) return std::min({deadline_, resume_, next_say_});
  TimePoint first = std::min(next_beat_, heard_ + options_.lost_after);
  if (stage_ != Stage::started) first = std::min({first, deadline_, next_say_});
  return first;
}

void MemberCall::close() {
  actions_.push_back({.kind = Action::Kind::close});
}

void MemberCall::send(std::uint8_t type, std::string payload) {
  actions_.push_back({.kind = Action::Kind::send, .type = type, .text = std::move(payload)});
}

}  // namespace muster::coordinate
