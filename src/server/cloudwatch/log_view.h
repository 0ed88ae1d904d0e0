#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/cloudwatch/log_level.h"
#include "server/cloudwatch/log_messages.h"

namespace muster::cloudwatch {

/// A choice among the lines of a job's log.
struct LineFilter {
  std::optional<int> rank = {};
  std::optional<job::Stream> stream = {};
  Level least = Level::any;

  bool takes(const LogEvent& event) const;
  bool is_all() const { return *this == LineFilter{}; }
  auto operator<=>(const LineFilter&) const = default;
};

/// Who wrote one line and lines like it, as ranges of numbers, sorted, both ends part of each: a
/// rank is its number; the host of number H, where no rank wrote, is -1 - H.
using Writers = std::vector<std::pair<int, int>>;

/// The rows of a log that is filtered, and folded where that is wanted: what several writers wrote
/// alike within `fold_span` is one row, at the place of the first of those lines. Keeps numbers of
/// lines, not lines. Pure.
class LogView {
 public:
  static constexpr std::chrono::seconds fold_span{10};
  static constexpr std::size_t bytes_max = 32u << 20;  ///< What a view takes, roughly.
  /// Ranges of writers of one row; who comes then begins another one. Ranks are believed from tags
  /// that any program may write.
  static constexpr std::size_t ranges_max = 2048;

  LogView(LineFilter filter, bool folds) : filter_(filter), folds_(folds) {}
  LogView(LogView&&) = default;
  LogView(const LogView&) = delete;

  /// The line of that number; lines are given in their order, none is left out.
  void add(std::uint64_t number, std::size_t host, const LogEvent& event);
  std::uint64_t looked_to() const { return looked_to_; }  ///< The first line not given yet.
  /// There are as many rows as there may be: further lines change nothing.
  bool is_full() const { return bytes() >= bytes_max; }
  std::size_t bytes() const { return bytes_ + open_bytes_; }  ///< What it takes, roughly.
  std::size_t count() const { return rows_.size(); }
  /// The first row that more writers may join; count() if there is none.
  std::size_t settled() const {
    return open_.empty() || is_full() ? rows_.size() : open_.begin()->first;
  }

  std::uint64_t line_of(std::size_t row) const { return rows_[row].number; }
  /// More than one of them; empty: one wrote it.
  Writers writers_of(std::size_t row) const;
  /// The first row at the line of that number or behind it; count() if there is none.
  std::size_t row_at(std::uint64_t number) const;
  bool has(std::uint64_t number) const;

 private:
  struct Row {
    std::uint64_t number = 0;
    std::uint32_t writers = 0;  ///< A number in `known_`; 0: one writer.
  };
  struct Open {
    UnixMillis since{0};
    std::string text;
    Writers writers;
    std::size_t bytes() const;
  };
  void close(UnixMillis now);
  bool join(int writer, UnixMillis time, std::string_view text);

  LineFilter filter_;
  bool folds_;
  std::uint64_t looked_to_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Row> rows_;
  std::vector<Writers> known_{{}};
  std::map<Writers, std::uint32_t> numbers_of_known_;
  std::map<std::size_t, Open> open_;  ///< By row.
  std::size_t open_bytes_ = 0;        ///< What they take, roughly.
  /// The last open row with a text; the keys lie in `open_`.
  std::unordered_map<std::string_view, std::size_t> last_of_text_;
};

}  // namespace muster::cloudwatch
