#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace muster::web {

/// The streams of events that are open. When there are as many as can be, a key with more than its
/// share gives its oldest one up for a key with fewer. Any number of threads.
class Followers {
 public:
  using Id = std::uint64_t;
  struct Limits {
    std::size_t all = 1024;
    /// A browser has six connections to one server; those that it has left are seen at the next
    /// beat.
    std::size_t of_visit = 12;
  };
  explicit Followers(Limits limits) : limits_(limits) {}

  /// None: the visit has too many, or all have, and no key has many more than this one.
  std::optional<Id> begin(const std::string& key, const std::string& visit);
  /// False once it was given up, or has ended.
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
