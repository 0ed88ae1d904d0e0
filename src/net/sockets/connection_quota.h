#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace muster::loop {

/// Pure: which connections a server keeps when there are more than it has room for.
///
/// A connection is a stranger's until something on it was proved (a request signed by a known key,
/// a handshake). At a limit the oldest stranger goes to make room, so a newcomer gets its chance
/// however many sit there and say nothing, or trickle: age alone counts. What was proved goes only
/// when no stranger is left, and then only while it is idle.
class ConnectionQuota {
 public:
  using Id = std::uint64_t;  ///< Given by the caller, each once.

  struct Limits {
    std::size_t all = 4096;
    std::size_t of_peer = 1024;                ///< Strangers of one address.
    std::size_t of_party = 1024;               ///< Proved connections of one named party.
    std::uint64_t stranger_bytes = 64u << 20;  ///< What strangers' requests hold, all together.
    bool operator==(const Limits&) const = default;
  };
  /// A quarter of a process's descriptors: a connection that works holds a file besides its socket,
  /// and half of them are for everything else that the process does. At most 4,096.
  static Limits limits_for(std::uint64_t descriptors);

  explicit ConnectionQuota(Limits limits) : limits_(limits) {}

  struct Verdict {
    bool stays = true;       ///< The connection that was asked about.
    std::optional<Id> ends;  ///< Another one that has to be closed; it is forgotten already.
    bool operator==(const Verdict&) const = default;
  };
  /// A newcomer from the address `peer`, idle and a stranger. One that may not stay is forgotten.
  Verdict accepted(Id id, std::string_view peer);
  /// A peer proved its identity on this connection. Connections of one `party` share a limit; an
  /// empty party has none. A connection over the limit is counted until closed(): its owner answers
  /// "later" and closes it; one that is forgotten may not stay either.
  Verdict proved(Id id, std::string_view party);
  /// The connection's request holds so many bytes now, in all. While strangers hold too much, the
  /// one that holds most goes; what was proved is not counted. One that may not stay is remembered;
  /// one that is forgotten may not stay.
  Verdict holds(Id id, std::uint64_t bytes);
  void busy(Id id);    ///< A request of it is being answered.
  void idle(Id id);    ///< The connection waits for a request.
  void closed(Id id);  ///< An id that is not known (any more) is fine, here and above.

  std::size_t size() const { return connections_.size(); }

 private:
  enum class Rank { stranger, idle, kept };
  struct Connection {
    std::string peer;
    std::string party;
    std::uint64_t since = 0;  ///< Strangers: when it came. Others: when it last became idle.
    bool is_proved = false;
    bool is_busy = false;
    std::uint64_t bytes = 0;  ///< Held; of strangers only.
    Rank rank() const;
  };
  struct Place {  ///< In the order in which connections go.
    Rank rank;
    std::uint64_t since;
    Id id;
    auto operator<=>(const Place&) const = default;
  };
  struct Group {
    std::size_t size = 0;
    std::set<Place> places;  ///< The connections that may go.
  };
  using Groups = std::map<std::string, Group, std::less<>>;

  void set_bytes(Id id, Connection& connection, std::uint64_t bytes);
  void enter(Id id, const Connection& connection);
  void leave(Id id, const Connection& connection);
  /// Removes and returns the first place in order; none if the set is empty.
  std::optional<Id> take_first(const std::set<Place>& places);

  Limits limits_;
  std::uint64_t time_ = 0;  ///< Counts events.
  std::map<Id, Connection> connections_;
  std::set<Place> places_;                          ///< All that may go.
  Groups strangers_;                                ///< By peer.
  Groups parties_;                                  ///< Proved ones.
  std::set<std::pair<std::uint64_t, Id>> holders_;  ///< Who holds how much.
  std::uint64_t held_ = 0;
};

}  // namespace muster::loop
