#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace muster::web {

/// The open event streams. At the limit, a key that has more streams than its share loses its
/// oldest one to a key with fewer. Thread-safe.
class Followers {
 public:
  using Id = std::uint64_t;
  struct Limits {
    std::size_t all = 1024;
    /// A browser opens at most six connections to one server. The server notices a closed one only
    /// when it sends the next beat, so twice as many may seem to be open.
    std::size_t of_visit = 12;
  };
  explicit Followers(Limits limits) : limits_(limits) {}

  /// None if the visit has too many streams, or if the limit for all is reached and no key has many
  /// more streams than this one.
  std::optional<Id> begin(const std::string& key, const std::string& visit);
  /// False once the stream has ended, or was closed in favour of another key.
  bool stays(Id id) const;
  void end(Id id);

 private:
  struct Stream {
    std::string key;
    std::string visit;
  };
  const Limits limits_;
  mutable std::mutex mutex_;
  Id last_ = 0;
  std::map<Id, Stream> streams_;  ///< By age.
};

}  // namespace muster::web
