#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace muster::cloudwatch {

/// A metric by rank and time: rows of buckets of equal width. Pure.
class RankCells {
 public:
  /// Values of further ranks are ignored: a program may claim any number of ranks.
  static constexpr std::size_t rows_max = 512;
  struct Cell {
    double sum = 0;
    std::int64_t count = 0;
  };
  using Row = std::map<std::int64_t, Cell>;  ///< By the number of the bucket, from 0.
  /// A rank and its host; -1: a host's line without a rank. If a host claims ranks of other hosts,
  /// they get separate rows.
  using Name = std::pair<int, std::string>;

  /// [from, to) in seconds since 1970, from < to, in 1 to `most` buckets of whole seconds.
  RankCells(std::int64_t from, std::int64_t to, std::int64_t most);

  bool holds(std::int64_t second) const { return second >= from_ && second < to_; }
  /// Values outside the time range are ignored.
  void add(const Name& name, std::int64_t second, double value);
  std::int64_t width() const { return width_; }  ///< Seconds.
  const std::map<Name, Row>& rows() const { return rows_; }

 private:
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t width_;
  std::map<Name, Row> rows_;
};

}  // namespace muster::cloudwatch
