#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster::platform {

/// Merges the entries of many sources, each in the order of their `time`, into one sequence in that
/// order. Of entries with equal times, the one of the source that was added first comes first.
/// Pure: values only.
template <class Entry>
class LogMerge {
 public:
  struct Next {
    std::size_t source;
    Entry entry;
  };
  explicit LogMerge(std::size_t sources = 0) {
    while (sources-- > 0) add_source();
  }
  /// The new source's number.
  std::size_t add_source() {
    sources_.emplace_back();
    wanting_.insert(sources_.size() - 1);
    return sources_.size() - 1;
  }
  void add(std::size_t source, Entry entry) {
    std::deque<Entry>& entries = sources_[source];
    entries.push_back(std::move(entry));
    if (entries.size() > 1) return;
    wanting_.erase(source);
    push_head(source);
  }
  /// The source has no more entries for now.
  void dry(std::size_t source) {
    dry_.insert(source);
    wanting_.erase(source);
  }
  /// Every source may have more entries again.
  void again() {
    for (const std::size_t source : dry_)
      if (sources_[source].empty()) wanting_.insert(source);
    dry_.clear();
  }
  /// A source that the caller must read before the next entry is known.
  std::optional<std::size_t> wanting() const {
    if (wanting_.empty()) return std::nullopt;
    return *wanting_.begin();
  }
  /// The next entry; none while a source is wanting, or if no entry is left.
  std::optional<Next> next() {
    if (!wanting_.empty() || heads_.empty()) return std::nullopt;
    std::pop_heap(heads_.begin(), heads_.end(), std::greater<>());
    const std::size_t source = heads_.back().second;
    heads_.pop_back();
    std::deque<Entry>& entries = sources_[source];
    Next next{source, std::move(entries.front())};
    entries.pop_front();
    if (!entries.empty())
      push_head(source);
    else if (!dry_.contains(source))
      wanting_.insert(source);
    return next;
  }

 private:
  void push_head(std::size_t source) {
    heads_.emplace_back(sources_[source].front().time, source);
    std::push_heap(heads_.begin(), heads_.end(), std::greater<>());
  }

  std::vector<std::deque<Entry>> sources_;
  /// The first entry's time of each source that has one, a heap with the earliest in front.
  std::vector<std::pair<UnixMillis, std::size_t>> heads_;
  std::set<std::size_t> dry_;      ///< Sources without more entries for now.
  std::set<std::size_t> wanting_;  ///< Sources without an entry that may have more.
};

}  // namespace muster::platform
