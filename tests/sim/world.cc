#include "world.h"

#include <algorithm>

#include "job/wire/message.h"

namespace muster::sim {
namespace {

using coordinate::LeaderCall;
using coordinate::MemberCall;
using job::Message;
using job::type_of;
using namespace std::chrono_literals;

constexpr std::uint64_t events_max = 1000000;  ///< A machine that spins would never end.

}  // namespace

World::World(std::uint64_t seed, std::vector<Host> hosts, Duration join_deadline)
    : random_(seed), join_deadline_(join_deadline) {
  for (Host& host : hosts) {
    Node node;
    node.host = std::move(host);
    nodes_.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].host.comes) at(now_ + nodes_[i].host.arrives, [this, i] { start_host(i); });
}

void World::at(TimePoint time, std::function<void()> event) {
  events_.push({std::max(time, now_), ++events_made_, std::move(event)});
}

void World::run(TimePoint until) {
  while (!events_.empty() && events_.top().time <= until && events_made_ < events_max) {
    Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.run();
  }
  now_ = until;
}

Duration World::between(Duration least, Duration most) {
  const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
  return least + Duration(static_cast<Duration::rep>(random_() % span));
}

void World::on_host(std::size_t host, std::function<void()> event) {
  const Node& node = nodes_[host];
  if (node.dead || !node.running || node.end) return;
  if (now_ < node.frozen_until) {
    if (node.frozen_until == TimePoint::max()) return;
    return at(node.frozen_until, [this, host, event] { on_host(host, event); });
  }
  event();
}

void World::over_network(std::size_t member, std::size_t to, std::function<void()> event) {
  const TimePoint cut_until = std::max(nodes_[0].cut_until, nodes_[member].cut_until);
  if (cut_until == TimePoint::max()) return;
  if (now_ < cut_until)
    return at(cut_until, [this, member, to, event] { over_network(member, to, event); });
  on_host(to, std::move(event));
}

void World::start_host(std::size_t index) {
  Node& node = nodes_[index];
  if (node.dead) return;
  node.running = true;
  if (index == 0) {
    LeaderCall::Options options;
    options.host = node.host.name;
    for (const Node& other : nodes_) options.hosts.push_back(other.host.name);
    options.join_deadline = join_deadline_;
    leader_ = std::make_unique<LeaderCall>(std::move(options), now_);
    leader_->step(now_);
    return leader_turn();
  }
  MemberCall::Options options;
  options.join = {.version = node.host.version, .host = node.host.name};
  options.leader = nodes_[0].host.name;
  options.join_deadline = join_deadline_;
  options.seed = static_cast<std::uint32_t>(random_()) | 1u;
  node.call = std::make_unique<MemberCall>(std::move(options), now_);
  node.call->begin(now_);
  member_turn(index);
}

// The network.

void World::connect(std::size_t member, TimePoint deadline) {
  const auto failed = [this, member](TimePoint when, Errc code, const char* why) {
    at(when, [=, this] {
      on_host(member, [=, this] {
        nodes_[member].call->not_connected(fail(code, why), now_);
        member_turn(member);
      });
    });
  };
  const Node& leader = nodes_[0];
  const bool cut = now_ < leader.cut_until || now_ < nodes_[member].cut_until;
  if (cut || (leader.running && now_ < leader.frozen_until) || pick(20) == 0)
    return failed(std::min(deadline, now_ + 3s), Errc::timeout, "no answer");
  if (!leader.running || leader.dead || leader.end)
    return failed(now_ + delay(), Errc::system, "Connection refused");
  if (!nodes_[member].host.right_key)
    return failed(now_ + delay(), Errc::denied, "the other side rejected this side's key");
  meet(member);
}

void World::meet(std::size_t member) {
  const std::uint64_t id = ++links_made_;
  const TimePoint there = now_ + delay();
  const TimePoint back = there + delay();
  links_[id] = {.member = member, .to_leader = there, .to_member = back};
  at(there, [this, id, member] {
    over_network(member, 0, [this, id, member] {
      links_[id].at_leader = true;
      leader_->opened(id, nodes_[member].host.name, "10.0.0." + std::to_string(member), now_);
      leader_turn();
    });
  });
  at(back, [this, id, member] {
    over_network(member, member, [this, id, member] {
      nodes_[member].link = id;
      nodes_[member].call->connected(now_);
      member_turn(member);
    });
  });
}

void World::send_to_leader(std::uint64_t id, Frame frame) {
  Link& link = links_[id];
  if (link.broken) return;
  link.to_leader = std::max(link.to_leader, now_ + delay());
  at(link.to_leader, [this, id, member = link.member, frame = std::move(frame)] {
    over_network(member, 0, [this, id, member, frame] {
      if (!links_[id].at_leader) return;
      const auto told = told_.find(frame.payload);
      const bool of_job = leader_->frame(id, frame, now_);
      if (of_job && told != told_.end())
        add_failure(told->second);
      else if (of_job && on_leader_frame && !verdict_)
        on_leader_frame(member, frame);
      leader_turn();
    });
  });
}

void World::send_to_member(std::uint64_t id, Frame frame) {
  Link& link = links_[id];
  if (link.broken) return;
  link.to_member = std::max(link.to_member, now_ + delay());
  at(link.to_member, [this, id, member = link.member, frame = std::move(frame)] {
    over_network(member, member, [this, id, member, frame] {
      if (nodes_[member].link != id) return;
      if (nodes_[member].call->frame(frame, now_)) member_frame(member, frame);
      member_turn(member);
    });
  });
}

/// Bytes that were sent still arrive; then each side that should notice sees the end.
void World::break_link(std::uint64_t id, bool tell_leader, bool tell_member) {
  Link& link = links_[id];
  if (link.broken) return;
  link.broken = true;
  const std::size_t member = link.member;
  if (tell_leader)
    at(std::max(link.to_leader, now_ + delay()), [this, id, member] {
      over_network(member, 0, [this, id] {
        if (!links_[id].at_leader) return;
        links_[id].at_leader = false;
        leader_->closed(id, "connection reset", now_);
        leader_turn();
      });
    });
  if (tell_member)
    at(std::max(link.to_member, now_ + delay()), [this, id, member] {
      over_network(member, member, [this, id, member] {
        if (nodes_[member].link != id) return;
        nodes_[member].link = 0;
        nodes_[member].call->closed("connection reset", now_);
        member_turn(member);
      });
    });
}

// The leader.

void World::leader_turn() {
  for (std::vector<LeaderCall::Action> actions = leader_->take_actions(); !actions.empty();
       actions = leader_->take_actions())
    for (const LeaderCall::Action& action : actions) carry_out(action);
  judge();
  if (nodes_[0].end) return;
  std::optional<TimePoint> next = leader_->next_deadline();
  const std::optional<TimePoint> decision = verdict_ ? std::nullopt : cause_.next_deadline();
  if (decision && (!next || *decision < *next)) next = decision;
  if (!next) return;
  at(*next, [this, armed = ++nodes_[0].armed] {
    on_host(0, [this, armed] {
      if (armed != nodes_[0].armed) return;
      leader_->step(now_);
      leader_turn();
    });
  });
}

void World::carry_out(const LeaderCall::Action& action) {
  using Kind = LeaderCall::Action::Kind;
  switch (action.kind) {
    case Kind::send:
      send_to_member(action.session, {action.type, action.text});
      break;
    case Kind::close:
      links_[action.session].at_leader = false;
      break_link(action.session, false, true);
      break;
    case Kind::say:
      ++say_count_;
      break;
    case Kind::start:
      note_start();
      break;
    case Kind::give_up:
      // As the driver does: those that came get two seconds to hear why.
      at(now_ + 2s, [this, text = action.text] { end(0, "gave up: " + text); });
      break;
    case Kind::lost:
      if (on_lost) on_lost(action.host);
      add_failure({.outcome = job::Outcome::lost(action.text),
                   .host = action.host,
                   .process = "host",
                   .rank = -1,
                   .last_lines = {},
                   .command = {}});
      break;
  }
}

void World::note_start() {
  started_at_ = now_;
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const auto session = leader_->session_of(nodes_[i].host.name);
    if (session && links_[*session].broken) broken_at_start_.push_back(nodes_[i].host.name);
  }
  if (on_start) on_start();
}

void World::add_failure(job::Verdict verdict) {
  cause_.add(std::move(verdict), now_);
  judge();
}

void World::judge() {
  if (verdict_ || nodes_[0].end) return;
  if (std::optional<job::Verdict> found = cause_.decide(now_)) conclude(*std::move(found));
}

void World::all_ended() {
  if (!verdict_ && !cause_.failing()) conclude({});
}

void World::conclude(job::Verdict verdict) {
  verdict_ = std::move(verdict);
  leader_->expect_end();
  for (std::size_t i = 1; i < nodes_.size(); ++i)
    if (const auto session = leader_->session_of(nodes_[i].host.name))
      send_to_member(*session, {type_of(Message::end), "{}"});
  at(now_ + 500ms, [this] { end(0, "verdict"); });
}

// The members.

void World::member_turn(std::size_t member) {
  Node& node = nodes_[member];
  for (std::vector<MemberCall::Action> actions = node.call->take_actions(); !actions.empty();
       actions = node.call->take_actions())
    for (const MemberCall::Action& action : actions) carry_out(member, action);
  const std::optional<TimePoint> next = node.call->next_deadline();
  if (node.end || !next) return;
  at(*next, [this, member, armed = ++node.armed] {
    on_host(member, [this, member, armed] {
      if (armed != nodes_[member].armed) return;
      nodes_[member].call->step(now_);
      member_turn(member);
    });
  });
}

void World::carry_out(std::size_t member, const MemberCall::Action& action) {
  using Kind = MemberCall::Action::Kind;
  Node& node = nodes_[member];
  switch (action.kind) {
    case Kind::connect:
      connect(member, action.deadline);
      break;
    case Kind::send:
      if (node.link != 0) send_to_leader(node.link, {action.type, action.text});
      break;
    case Kind::close:
      if (node.link != 0) break_link(std::exchange(node.link, 0), true, false);
      break;
    case Kind::say:
      ++say_count_;
      break;
    case Kind::started:
      break;
    case Kind::fail:
      end(member, "failed: " + action.error.text);
      break;
    case Kind::lost:
      end(member, "lost: " + action.text);
      break;
  }
}

void World::post_to_leader(std::size_t member, Frame frame) {
  if (nodes_[member].link != 0) send_to_leader(nodes_[member].link, std::move(frame));
}

void World::post_to_member(std::size_t member, Frame frame) {
  const auto session = leader_->session_of(nodes_[member].host.name);
  if (session) send_to_member(*session, std::move(frame));
}

void World::member_frame(std::size_t member, const Frame& frame) {
  if (frame.type != type_of(Message::end)) {
    if (on_member_frame) on_member_frame(member, frame);
    return;
  }
  nodes_[member].call->expect_end();
  end(member, "end");
}

void World::process_ends(std::size_t host, job::Verdict verdict) {
  on_host(host, [&] {
    if (host == 0) {
      add_failure(std::move(verdict));
      return leader_turn();
    }
    const std::string payload = std::to_string(told_.size());
    told_[payload] = std::move(verdict);
    if (nodes_[host].link != 0)
      send_to_leader(nodes_[host].link, {type_of(Message::outcome), payload});
  });
}

// Ends and faults.

void World::end(std::size_t host, std::string why) {
  Node& node = nodes_[host];
  if (node.dead || node.end) return;
  node.end = End{now_, std::move(why)};
  for (auto& [id, link] : links_)
    if (host == 0 || link.member == host) break_link(id, host != 0, host == 0);
}

void World::add_noise() {
  const std::size_t count = pick(12);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t host = pick(nodes_.size());
    const Duration length = between(10ms, 2s);
    const std::size_t kind = pick(4);
    // One at a time: two in a row may add up to more silence than a host may have.
    const TimePoint when = now_ + 1s + 6s * static_cast<int>(i) + between(0ms, 1s);
    at(when, [this, host, length, kind] {
      if (kind % 3 == 0 && !started() && host != 0) reset(host, kind == 3);
      if (kind == 1) cut(host, now_ + length);
      if (kind == 2) freeze(host, now_ + length);
    });
  }
}

void World::kill(std::size_t host) {
  if (nodes_[host].end) return;
  for (auto& [id, link] : links_)
    if (host == 0 || link.member == host) break_link(id, host != 0, host == 0);
  nodes_[host].dead = true;
}

void World::freeze(std::size_t host, TimePoint until) {
  nodes_[host].frozen_until = until;
}

void World::cut(std::size_t host, TimePoint until) {
  nodes_[host].cut_until = until;
}

void World::reset(std::size_t host, bool half) {
  if (nodes_[host].link != 0) break_link(nodes_[host].link, !half, true);
}

}  // namespace muster::sim
