#pragma once

#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "server/queue/queue_order.h"

namespace muster::jobs {

inline double score_of(const std::map<std::string, double>& scores, const std::string& key) {
  const auto found = scores.find(key);
  return found == scores.end() ? 0 : found->second;
}

/// The places of all keys in one order, limited to those that `Wanted` selects; it may select fewer
/// over time.
template <class Wanted>
class Merge {
 public:
  /// All outlives this, and does not change.
  Merge(const std::map<std::string, KeyOrder>& orders, const std::map<std::string, double>& scores,
        UnixMillis now, const QueueRules& rules, Wanted wanted)
      : wanted_(std::move(wanted)) {
    for (const auto& [key, order] : orders) {
      const std::vector<Place>& places = order.places(now, rules);
      seek({places.data(), places.data() + places.size(), score_of(scores, key), {}});
    }
  }

  /// None at the end.
  const Place* next() {
    while (!cursors_.empty()) {
      Cursor first = cursors_.top();
      cursors_.pop();
      const Place* const place = first.place++;
      seek(std::move(first));
      if (wanted_(*place)) return place;
    }
    return nullptr;
  }

 private:
  struct Cursor {
    const Place* place = nullptr;
    const Place* end = nullptr;
    double score = 0;
    decltype(place->rank(0)) rank;

    bool operator>(const Cursor& other) const { return rank > other.rank; }
  };

  void seek(Cursor cursor) {
    while (cursor.place != cursor.end && !wanted_(*cursor.place)) ++cursor.place;
    if (cursor.place == cursor.end) return;
    cursor.rank = cursor.place->rank(cursor.score);
    cursors_.push(std::move(cursor));
  }

  Wanted wanted_;
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors_;
};

}  // namespace muster::jobs
