#include "os/devices/topology.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace muster::devices {
namespace {

constexpr int nvlink_rank = 10;  // Beyond all of the others.
constexpr std::array<std::pair<const char*, int>, 5> ranks = {
    {{"SYS", 1}, {"NODE", 2}, {"PHB", 3}, {"PXB", 4}, {"PIX", 5}}};

int rank_of(const std::string& link) {
  for (const auto& [name, rank] : ranks)
    if (link == name) return rank;
  if (!link.starts_with("NV")) return 0;
  const std::int64_t links = parse_integer(std::string_view(link).substr(2)).value_or(0);
  return nvlink_rank + static_cast<int>(std::clamp<std::int64_t>(links, 0, 1000));
}

/// 3 for "GPU3".
std::optional<std::int64_t> number_of(const std::string& word) {
  if (!word.starts_with("GPU") || word.size() > 7) return std::nullopt;
  return parse_integer(std::string_view(word).substr(3));
}

/// Newer programs underline the head of the matrix for a terminal.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\033')
      while (at < text.size() && text[at] != 'm') ++at;
    else
      plain += text[at];
  }
  return plain;
}

/// Sums of connections.
struct Worth {
  long inside = 0;
  long outside = 0;

  bool better_than(const Worth& other) const {
    return inside != other.inside ? inside > other.inside : outside < other.outside;
  }
};

}  // namespace

Topology Topology::from(std::string_view matrix) {
  Topology topology;
  std::vector<std::string> head;
  for (const std::string& line : split(without_escapes(matrix), '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.empty() || !number_of(words.front())) continue;
    if (head.empty()) {  // The head begins with a column's name, a row with its own.
      head = words;
      continue;
    }
    const std::int64_t row = *number_of(words.front());
    for (std::size_t i = 0; i < head.size() && i + 1 < words.size(); ++i) {
      const std::optional<std::int64_t> column = number_of(head[i]);
      if (!column) break;
      if (*column != row) topology.links_[{row, *column}] = rank_of(words[i + 1]);
    }
  }
  return topology;
}

int Topology::between(std::int64_t a, std::int64_t b) const {
  const auto found = links_.find({a, b});
  return found == links_.end() ? 0 : found->second;
}

std::vector<std::size_t> choose(const std::vector<std::optional<std::int64_t>>& free,
                                std::size_t count, const Topology& topology) {
  count = std::min(count, free.size());
  const auto link = [&](std::size_t a, std::size_t b) {
    return free[a] && free[b] ? topology.between(*free[a], *free[b]) : 0;
  };
  const auto worth_of = [&](const std::vector<std::size_t>& group) {
    Worth worth;
    for (const std::size_t member : group)
      for (std::size_t other = 0; other < free.size(); ++other) {
        const bool is_inside = std::find(group.begin(), group.end(), other) != group.end();
        (is_inside ? worth.inside : worth.outside) += link(member, other);
      }
    return worth;
  };
  std::vector<std::size_t> best;
  Worth best_worth;
  for (std::size_t seed = 0; seed < free.size() && count > 0; ++seed) {
    std::vector<std::size_t> group = {seed};
    while (group.size() < count) {
      std::optional<std::size_t> next;
      Worth next_worth;
      for (std::size_t other = 0; other < free.size(); ++other) {
        if (std::find(group.begin(), group.end(), other) != group.end()) continue;
        group.push_back(other);
        const Worth worth = worth_of(group);
        group.pop_back();
        if (next && !worth.better_than(next_worth)) continue;
        next = other;
        next_worth = worth;
      }
      group.push_back(*next);
    }
    const Worth worth = worth_of(group);
    if (!best.empty() && !worth.better_than(best_worth)) continue;
    best = group;
    best_worth = worth;
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace muster::devices
