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
#include "server/cloudwatch/log_stream.h"

namespace muster::cloudwatch {

/// Selects lines of a job's log.
struct LineFilter {
  std::optional<int> rank = {};
  std::optional<job::Stream> stream = {};
  Level least = Level::any;

  bool takes(const LogEvent& event) const;
  bool is_all() const { return *this == LineFilter{}; }
  auto operator<=>(const LineFilter&) const = default;
};

/// The writers of a line and of equal lines, as sorted ranges of numbers that include both ends. A
/// rank is its number; host number H, for lines without a rank, is -1 - H.
using Writers = std::vector<std::pair<int, int>>;

/// True for a line of NCCL_DEBUG=INFO: "node7:4711:4720 [0] NCCL INFO Channel 00/24 : 0 1".
bool is_nccl_info(std::string_view line);

/// The rows of a filtered, optionally folded log. Folding makes one row of equal lines that several
/// writers wrote within `fold_span`, at the position of the first of them; and one of all lines of
/// NCCL's INFO level in that time, which come by the thousand. Keeps numbers of lines, not lines.
/// Pure.
class LogView {
 public:
  static constexpr std::chrono::seconds fold_span{10};
  static constexpr std::size_t bytes_max = 32u << 20;  ///< Approximate memory limit of a view.
  /// Limit of ranges of writers per row; further writers start another row. Ranks are read from
  /// tags, which any program may write.
  static constexpr std::size_t ranges_max = 2048;

  LogView(LineFilter filter, bool folds) : filter_(filter), folds_(folds) {}
  LogView(LogView&&) = default;
  LogView(const LogView&) = delete;

  /// Adds the line with that number. Lines must be added in order and without gaps.
  void add(std::uint64_t number, std::size_t host, const LogEvent& event);
  std::uint64_t looked_to() const { return looked_to_; }  ///< The first line not added yet.
  /// True at the memory limit: further lines change nothing.
  bool is_full() const { return bytes() >= bytes_max; }
  std::size_t bytes() const { return bytes_ + open_bytes_; }  ///< Approximate memory use.
  std::size_t count() const { return rows_.size(); }
  /// The first row that may get more writers; count() if there is none.
  std::size_t settled() const {
    return open_.empty() || is_full() ? rows_.size() : open_.begin()->first;
  }

  std::uint64_t line_of(std::size_t row) const { return rows_[row].number; }
  /// Empty if the row has only one writer.
  Writers writers_of(std::size_t row) const;
  /// How many lines of NCCL's the row combines; 0: it is another line.
  std::uint32_t nccl_lines_of(std::size_t row) const { return rows_[row].nccl_lines; }
  /// The first row at or after the line with that number; count() if there is none.
  std::size_t row_at(std::uint64_t number) const;
  bool has(std::uint64_t number) const;

 private:
  struct Row {
    std::uint64_t number = 0;
    std::uint32_t writers = 0;  ///< A number in `known_`; 0: one writer.
    std::uint32_t nccl_lines = 0;
  };
  struct Open {
    UnixMillis since{0};
    std::string text;
    Writers writers;
    std::size_t bytes() const;
  };
  void close(UnixMillis now);
  bool join(int writer, UnixMillis time, std::string_view text, bool is_nccl);

  LineFilter filter_;
  bool folds_;
  std::uint64_t looked_to_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Row> rows_;
  std::vector<Writers> known_{{}};
  std::map<Writers, std::uint32_t> numbers_of_known_;
  std::map<std::size_t, Open> open_;  ///< By row.
  std::size_t open_bytes_ = 0;        ///< Approximate memory use of open_.
  /// The last open row by text; the keys point into `open_`.
  std::unordered_map<std::string_view, std::size_t> last_of_text_;
};

}  // namespace muster::cloudwatch
