#include "server/web/followers.h"

#include <algorithm>

namespace muster::web {

std::optional<Followers::Id> Followers::begin(const std::string& key, const std::string& visit) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::size_t> of_key;
  std::size_t of_visit = 0;
  for (const auto& [id, stream] : streams_) {
    ++of_key[stream.key];
    if (stream.visit == visit) ++of_visit;
  }
  if (of_visit >= limits_.of_visit) return std::nullopt;
  if (streams_.size() >= limits_.all) {
    const auto most =
        std::max_element(of_key.begin(), of_key.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    // If a difference of one were enough, the two keys would take the place from each other
    // repeatedly.
    if (most == of_key.end() || most->second < of_key[key] + 2) return std::nullopt;
    streams_.erase(std::find_if(streams_.begin(), streams_.end(),
                                [&](const auto& each) { return each.second.key == most->first; }));
  }
  streams_.emplace(++last_, Stream{key, visit});
  return last_;
}

bool Followers::stays(Id id) const {
  const std::lock_guard lock(mutex_);
  return streams_.contains(id);
}

void Followers::end(Id id) {
  const std::lock_guard lock(mutex_);
  streams_.erase(id);
}

}  // namespace muster::web
