#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace muster::runs {

/// Numbers of jobs, one bit each: they are given one after the other.
class JobSet {
 public:
  void add(std::int64_t job) {
    const auto place = static_cast<std::size_t>(job) / bits;
    if (place >= words_.size()) words_.resize(place + place / 2 + 1);
    words_[place] |= bit_of(job);
  }
  bool has(std::int64_t job) const {
    const auto place = static_cast<std::size_t>(job) / bits;
    return place < words_.size() && (words_[place] & bit_of(job)) != 0;
  }
  void keep(const JobSet& others) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] &= i < others.words_.size() ? others.words_[i] : 0;
  }
  void remove(const JobSet& others) {
    for (std::size_t i = 0; i < words_.size() && i < others.words_.size(); ++i)
      words_[i] &= ~others.words_[i];
  }
  std::int64_t count() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  /// No job of the set has a higher number.
  std::int64_t last() const { return static_cast<std::int64_t>(words_.size() * bits); }

 private:
  static constexpr std::size_t bits = 64;
  static std::uint64_t bit_of(std::int64_t job) {
    return std::uint64_t{1} << (static_cast<std::size_t>(job) % bits);
  }
  std::vector<std::uint64_t> words_;
};

}  // namespace muster::runs
