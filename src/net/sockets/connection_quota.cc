#include "net/sockets/connection_quota.h"

#include <algorithm>

namespace muster::loop {
namespace {

constexpr std::uint64_t all_max = 4096;
constexpr std::uint64_t all_min = 16;
/// An address with at most this many connections does not lose one to its own newcomers, because
/// clients open several connections at once.
constexpr std::size_t few = 16;
/// The answer for a connection that was already closed by an earlier decision, which its thread may
/// not have noticed yet.
constexpr ConnectionQuota::Verdict ended{.stays = false, .ends = {}};

}  // namespace

ConnectionQuota::Limits ConnectionQuota::limits_for(std::uint64_t descriptors) {
  const auto all = static_cast<std::size_t>(std::clamp(descriptors / 4, all_min, all_max));
  return {.all = all, .of_peer = all / 4, .of_party = all / 4};
}

ConnectionQuota::Rank ConnectionQuota::Connection::rank() const {
  if (!is_proved) return Rank::stranger;
  return is_busy ? Rank::kept : Rank::idle;
}

void ConnectionQuota::enter(Id id, const Connection& connection) {
  const Place place{connection.rank(), connection.since, id};
  const bool may_go = place.rank != Rank::kept;
  if (may_go) places_.insert(place);
  if (connection.is_proved && connection.party.empty()) return;
  Group& group = connection.is_proved ? parties_[connection.party] : strangers_[connection.peer];
  ++group.size;
  if (may_go) group.places.insert(place);
}

void ConnectionQuota::leave(Id id, const Connection& connection) {
  const Place place{connection.rank(), connection.since, id};
  places_.erase(place);
  if (connection.is_proved && connection.party.empty()) return;
  Groups& groups = connection.is_proved ? parties_ : strangers_;
  const auto found = groups.find(connection.is_proved ? connection.party : connection.peer);
  found->second.places.erase(place);
  if (--found->second.size == 0) groups.erase(found);
}

std::optional<ConnectionQuota::Id> ConnectionQuota::take_first(const std::set<Place>& places) {
  if (places.empty()) return std::nullopt;
  const Id id = places.begin()->id;
  closed(id);
  return id;
}

ConnectionQuota::Verdict ConnectionQuota::accepted(Id id, std::string_view peer) {
  Verdict verdict;
  const auto own = strangers_.find(peer);
  const std::size_t strangers = own == strangers_.end() ? 0 : own->second.size;
  if (strangers > 0 && strangers >= limits_.of_peer) {
    verdict.ends = take_first(own->second.places);
  } else if (connections_.size() >= limits_.all) {
    verdict.ends = take_first(strangers > few ? own->second.places : places_);
    verdict.stays = verdict.ends.has_value();
  }
  if (!verdict.stays) return verdict;
  const auto entered = connections_.insert_or_assign(
      id, Connection{.peer = std::string(peer), .party = {}, .since = ++time_});
  enter(id, entered.first->second);
  return verdict;
}

ConnectionQuota::Verdict ConnectionQuota::proved(Id id, std::string_view party) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return ended;
  Connection& connection = found->second;
  if (connection.is_proved && connection.party == party) return {};
  set_bytes(id, connection, 0);
  leave(id, connection);
  Verdict verdict;
  const auto others = party.empty() ? parties_.end() : parties_.find(party);
  if (others != parties_.end() && others->second.size >= limits_.of_party) {
    verdict.ends = take_first(others->second.places);
    verdict.stays = verdict.ends.has_value();
  }
  if (verdict.stays) {
    connection.is_proved = true;
    connection.party = party;
    connection.since = ++time_;
  }
  enter(id, connection);
  return verdict;
}

void ConnectionQuota::set_bytes(Id id, Connection& connection, std::uint64_t bytes) {
  if (connection.bytes > 0) holders_.erase({connection.bytes, id});
  held_ = held_ - connection.bytes + bytes;
  connection.bytes = bytes;
  if (bytes > 0) holders_.insert({bytes, id});
}

ConnectionQuota::Verdict ConnectionQuota::holds(Id id, std::uint64_t bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return ended;
  if (found->second.is_proved) return {};
  set_bytes(id, found->second, bytes);
  if (held_ <= limits_.stranger_bytes) return {};
  const Id most = holders_.rbegin()->second;
  if (most == id) return {.stays = false, .ends = {}};
  closed(most);
  return {.stays = held_ <= limits_.stranger_bytes, .ends = most};
}

void ConnectionQuota::busy(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.is_busy) return;
  leave(id, found->second);
  found->second.is_busy = true;
  enter(id, found->second);
}

void ConnectionQuota::idle(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || !found->second.is_busy) return;
  leave(id, found->second);
  found->second.is_busy = false;
  if (found->second.is_proved) found->second.since = ++time_;
  enter(id, found->second);
}

void ConnectionQuota::closed(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  set_bytes(id, found->second, 0);
  leave(id, found->second);
  connections_.erase(found);
}

}  // namespace muster::loop
