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

/// Pure: decides which connections a server keeps when a limit is exceeded.
///
/// A connection belongs to a stranger until its client has authenticated (by a request signed with
/// a known key, or by a handshake). At a limit, the oldest stranger is closed, so newcomers get a
/// chance even if many connections are silent or slow: only age counts. Authenticated connections
/// are closed only if no stranger is left, and only while they are idle.
class ConnectionQuota {
 public:
  using Id = std::uint64_t;  ///< Given by the caller, each once.

  struct Limits {
    std::size_t all = 4096;
    std::size_t of_peer = 1024;                ///< Strangers with the same address.
    std::size_t of_party = 1024;               ///< Proved connections of one named party.
    std::uint64_t stranger_bytes = 64u << 20;  ///< Held by all strangers' requests.
    bool operator==(const Limits&) const = default;
  };
  /// A quarter of a process's descriptors: a connection that works holds a file besides its socket,
  /// and half of them are for everything else that the process does. At most 4,096.
  static Limits limits_for(std::uint64_t descriptors);

  explicit ConnectionQuota(Limits limits) : limits_(limits) {}

  struct Verdict {
    bool stays = true;       ///< The connection that was asked about.
    std::optional<Id> ends;  ///< Another connection to close; already forgotten.
    bool operator==(const Verdict&) const = default;
  };
  /// Adds a new connection from the address `peer`: idle, and a stranger. If it must not stay, it
  /// is forgotten.
  Verdict accepted(Id id, std::string_view peer);
  /// A peer proved its identity on this connection. Connections of one `party` share a limit; an
  /// empty party has none. A connection over the limit is counted until closed(): its owner answers
  /// "later" and closes it; one that is forgotten may not stay either.
  Verdict proved(Id id, std::string_view party);
  /// Sets how many bytes the connection's request holds in total. While strangers hold too much,
  /// the one that holds most is closed; authenticated connections are not counted. A connection
  /// that must not stay is still remembered; a forgotten one must not stay.
  Verdict holds(Id id, std::uint64_t bytes);
  void busy(Id id);    ///< A request of it is being answered.
  void idle(Id id);    ///< The connection waits for a request.
  void closed(Id id);  ///< Unknown ids are ignored, here and above.

  std::size_t size() const { return connections_.size(); }

 private:
  enum class Rank { stranger, idle, kept };
  struct Connection {
    std::string peer;
    std::string party;
    std::uint64_t since = 0;  ///< Strangers: when it came. Others: when it last became idle.
    bool is_proved = false;
    bool is_busy = false;
    std::uint64_t bytes = 0;  ///< Bytes held; only for strangers.
    Rank rank() const;
  };
  struct Place {  ///< Sorted by the order in which connections are closed.
    Rank rank;
    std::uint64_t since;
    Id id;
    auto operator<=>(const Place&) const = default;
  };
  struct Group {
    std::size_t size = 0;
    std::set<Place> places;  ///< The connections that may be closed.
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
  std::set<Place> places_;                          ///< All connections that may be closed.
  Groups strangers_;                                ///< By peer.
  Groups parties_;                                  ///< Proved ones.
  std::set<std::pair<std::uint64_t, Id>> holders_;  ///< Bytes held, per connection.
  std::uint64_t held_ = 0;
};

}  // namespace muster::loop
