#include "host/coordinate/leader_call.h"

#include <algorithm>

#include "base/text.h"
#include "job/wire/message.h"

namespace muster::coordinate {
namespace {

using job::Message;
using job::type_of;

constexpr std::size_t strangers_max = 256;                   ///< Peers that have not joined.
constexpr Duration join_wait = std::chrono::seconds(10);     ///< From the proof to the join.
constexpr Duration farewell_wait = std::chrono::seconds(2);  ///< Until a refused peer is closed.
constexpr std::size_t refusals_said_max = 64;
constexpr int own_pause_intervals = 3;  ///< More between two steps: we were stopped.

}  // namespace

LeaderCall::LeaderCall(Options options, TimePoint now)
    : options_(std::move(options)),
      time_(now),
      opened_at_(now),
      last_step_(now),
      next_beat_(now + options_.heartbeat),
      next_say_(now + options_.say_missing_every),
      liveness_(options_.lost_after) {
  for (const std::string& host : options_.hosts)
    if (host != options_.host) members_.insert(host);
}

// Peers connect, send and disconnect.

void LeaderCall::opened(Session session, const std::string& host, const std::string& address,
                        TimePoint now) {
  time_.advance(now);
  if (peers_.size() - joined_.size() >= strangers_max) {
    actions_.push_back({.kind = Action::Kind::close, .session = session});
    return;
  }
  CHECK_THAT(!peers_.contains(session), "a session's number is used once");
  peers_[session] = {.host = host, .address = address, .until = now + join_wait};
}

bool LeaderCall::frame(Session session, const Frame& frame, TimePoint now) {
  time_.advance(now);
  const auto found = peers_.find(session);
  if (found == peers_.end() || found->second.stage == Stage::dismissed) return false;
  Peer& peer = found->second;
  if (peer.stage == Stage::proved) {
    on_join(session, peer, frame, now);
    return false;
  }
  static_cast<void>(liveness_.beat(peer.host, now));
  if (frame.type == type_of(Message::heartbeat)) return false;
  if (frame.type > type_of(Message::heartbeat)) return true;
  const std::string host = peer.host;  // join, welcome or refuse from a host that has joined.
  const std::string how = "sent message " + std::to_string(frame.type) + " out of turn";
  drop(session);
  lose(host, how);
  return false;
}

void LeaderCall::closed(Session session, const std::string& how, TimePoint now) {
  time_.advance(now);
  const auto found = peers_.find(session);
  if (found == peers_.end()) return;
  const std::string host = found->second.host;
  const bool was_joined = found->second.stage == Stage::joined;
  peers_.erase(found);
  if (!was_joined) return;
  joined_.erase(host);
  liveness_.remove(host);
  lose(host, "its session ended: " + how);
}

void LeaderCall::hold(const std::string& host, bool held, TimePoint now) {
  time_.advance(now);
  liveness_.hold(host, held, now);
}

void LeaderCall::lose(const std::string& host, const std::string& how) {
  if (phase_ == Phase::gathering) {
    trouble_[host] = how;
    say(host + " disconnected before the start (" + how + "); it may reconnect");
  }
  if (phase_ == Phase::started && !end_expected_)
    actions_.push_back({.kind = Action::Kind::lost, .host = host, .text = how});
}

/// Forgets a session that this side ends.
void LeaderCall::drop(Session session) {
  const auto found = peers_.find(session);
  if (found == peers_.end()) return;
  if (found->second.stage == Stage::joined) {
    joined_.erase(found->second.host);
    liveness_.remove(found->second.host);
  }
  peers_.erase(found);
  actions_.push_back({.kind = Action::Kind::close, .session = session});
}

void LeaderCall::dismiss(Session session, const Refuse& refuse, TimePoint now) {
  Peer& peer = peers_.at(session);
  if (peer.stage == Stage::joined) {
    joined_.erase(peer.host);
    liveness_.remove(peer.host);
  }
  peer.stage = Stage::dismissed;
  peer.until = now + farewell_wait;
  send(session, type_of(Message::refuse), encode(refuse));
}

// Joining.

void LeaderCall::on_join(Session session, Peer& peer, const Frame& frame, TimePoint now) {
  if (frame.type != type_of(Message::join)) {
    say_refused(peer, "it sent data before it joined");
    return drop(session);
  }
  const Result<Join> join = join_from(frame.payload);
  std::optional<Refuse> refuse;
  if (!join)
    refuse = Refuse{join.error().text, false};
  else
    refuse = objection(*join, peer);
  if (!refuse) return admit(session, peer, now);
  say_refused(peer, refuse->why);
  if (members_.contains(peer.host) && !joined_.contains(peer.host))
    trouble_[peer.host] = "refused: " + refuse->why;
  dismiss(session, *refuse, now);
}

/// Logged once only, because a peer that may succeed later retries each second.
void LeaderCall::say_refused(const Peer& peer, const std::string& why) {
  const std::string who = peer.host + " (" + peer.address + ")";
  if (refusals_said_.size() >= refusals_said_max && !refusals_said_.contains(who)) return;
  if (std::exchange(refusals_said_[who], why) != why) say(who + " was refused: " + why);
}

std::optional<Refuse> LeaderCall::objection(const Join& join, const Peer& peer) const {
  const std::string& host = peer.host;
  if (join.version != wire_version)
    return Refuse{host + " (muster " + join.muster + ") uses version " +
                  std::to_string(join.version) + " of the roll call protocol, " + options_.host +
                  " (muster " + options_.muster + ") uses version " + std::to_string(wire_version)};
  if (join.host != host)
    return Refuse{"authenticated as '" + host + "' but calls itself '" + to_utf8(join.host) + "'"};
  if (!members_.contains(host))
    return Refuse{"'" + to_utf8(host) + "' is not a member of this job; its hosts are " +
                  muster::join(options_.hosts, ", ")};
  if (phase_ == Phase::failed) return Refuse{failure_};
  if (phase_ == Phase::started)
    return Refuse{"the job has already started; " + host + " joined too late"};
  if (joined_.contains(host))
    return Refuse{host + " has already joined with another session", true};
  return std::nullopt;
}

void LeaderCall::admit(Session session, Peer& peer, TimePoint now) {
  peer.stage = Stage::joined;
  joined_[peer.host] = session;
  trouble_.erase(peer.host);
  liveness_.add(peer.host, now);
  const Duration left = std::max(Duration(0), opened_at_ + options_.join_deadline - now);
  send(session, type_of(Message::welcome),
       encode(Welcome{.muster = options_.muster,
                      .wait = std::chrono::duration_cast<std::chrono::milliseconds>(left)}));
  say(peer.host + " has joined (" + peer.address + "), " + std::to_string(joined_.size()) + " of " +
      std::to_string(members_.size()));
  step(now);
}

// Deadlines.

void LeaderCall::step(TimePoint now) {
  time_.advance(now);
  // If the leader itself was stopped, the silence of that time does not count against the others.
  if (now - last_step_ > options_.heartbeat * own_pause_intervals) liveness_.excuse(now);
  last_step_ = now;
  expire_silent(now);
  expire_peers(now);
  if (phase_ == Phase::gathering && joined_.size() == members_.size()) {
    phase_ = Phase::started;
    for (const auto& [host, session] : joined_)
      send(session, type_of(Message::start), options_.start);
    actions_.push_back({.kind = Action::Kind::start});
  }
  if (phase_ == Phase::gathering && now >= opened_at_ + options_.join_deadline)
    give_up(
        missing_text() + " did not join within " + spell(options_.join_deadline) + present_text(),
        now);
  if (phase_ == Phase::gathering && now >= next_say_) say_missing(now);
  if (now >= next_beat_) beat(now);
}

void LeaderCall::expire_silent(TimePoint now) {
  // If all hosts are silent at once, within one heartbeat interval, this host may be the one that
  // is cut off.
  const bool all = liveness_.size() >= 2 &&
                   liveness_.all_silent(options_.lost_after - options_.heartbeat * 3 / 2, now);
  for (const std::string& host : liveness_.expire(now)) {
    std::string how = "no heartbeat for " + spell(options_.lost_after);
    if (all) how += ", nor from any other host: " + options_.host + " itself may be cut off";
    drop(joined_.at(host));
    lose(host, how);
  }
}

void LeaderCall::expire_peers(TimePoint now) {
  if (all_joined()) return;
  std::vector<Session> over;
  for (const auto& [session, peer] : peers_)
    if (peer.stage != Stage::joined && now >= peer.until) over.push_back(session);
  for (Session session : over) drop(session);
}

void LeaderCall::beat(TimePoint now) {
  next_beat_ = now + options_.heartbeat;
  for (const auto& [host, session] : joined_) send(session, type_of(Message::heartbeat), "{}");
}

void LeaderCall::give_up(const std::string& why, TimePoint now) {
  phase_ = Phase::failed;
  failure_ = why;
  const std::map<std::string, Session> present = joined_;
  for (const auto& [host, session] : present) dismiss(session, Refuse{failure_}, now);
  for (auto& [session, peer] : peers_) peer.until = std::min(peer.until, now + farewell_wait);
  actions_.push_back({.kind = Action::Kind::give_up, .text = failure_});
}

void LeaderCall::cancel(const std::string& why, TimePoint now) {
  time_.advance(now);
  if (phase_ == Phase::gathering) give_up(why, now);
}

void LeaderCall::say_missing(TimePoint now) {
  next_say_ = now + options_.say_missing_every;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - opened_at_);
  say("waiting for " + missing_text() + " (" + spell(waited) + " of " +
      spell(options_.join_deadline) + ")");
}

std::optional<TimePoint> LeaderCall::next_deadline() const {
  std::optional<TimePoint> first;
  const auto add = [&first](TimePoint time) {
    if (!first || time < *first) first = time;
  };
  if (const std::optional<TimePoint> silent = liveness_.next_deadline()) add(*silent);
  if (!all_joined())
    for (const auto& [session, peer] : peers_)
      if (peer.stage != Stage::joined) add(peer.until);
  if (!joined_.empty()) add(next_beat_);
  if (phase_ == Phase::gathering) add(opened_at_ + options_.join_deadline);
  if (phase_ == Phase::gathering) add(next_say_);
  return first;
}

// The state of each host.

std::optional<LeaderCall::Session> LeaderCall::session_of(const std::string& host) const {
  const auto found = joined_.find(host);
  if (found == joined_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> LeaderCall::missing() const {
  std::vector<std::string> names;
  for (const std::string& host : members_)
    if (!joined_.contains(host)) names.push_back(host);
  return names;
}

/// "algo-3, algo-4 (refused: ...)"
std::string LeaderCall::missing_text() const {
  std::vector<std::string> parts = missing();
  for (std::string& part : parts) {
    const auto found = trouble_.find(part);
    if (found != trouble_.end()) part += " (" + found->second + ")";
  }
  return join(parts, ", ");
}

/// "; algo-2 is here"
std::string LeaderCall::present_text() const {
  if (joined_.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [host, session] : joined_) names.push_back(host);
  return "; " + join(names, ", ") + (names.size() == 1 ? " has joined" : " have joined");
}

void LeaderCall::send(Session session, std::uint8_t type, std::string payload) {
  actions_.push_back(
      {.kind = Action::Kind::send, .session = session, .type = type, .text = std::move(payload)});
}

void LeaderCall::say(std::string text) {
  actions_.push_back({.kind = Action::Kind::say, .text = std::move(text)});
}

}  // namespace muster::coordinate
