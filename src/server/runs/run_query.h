#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "server/store/run_value.h"

namespace muster::runs {

/// What the page asks of its table of runs. Pure: JSON comes in, checked questions go out. Source:
/// docs/protocols/runs.md.

enum class Field { name, status, created, duration, hyperparameter, tag, last, least, most };

struct Column {
  Field field = Field::created;
  std::string name{};  ///< The hyperparameter's, tag's or metric's; else empty.

  bool is_named() const { return field >= Field::hyperparameter; }
  bool is_metric() const { return field >= Field::last; }
  bool operator==(const Column&) const = default;
};
std::optional<Column> column_named(std::string_view text);
/// As column_named() reads it.
std::string column_text(const Column& column);

enum class Test { equal, unequal, less, at_most, more, at_least, contains, exists, missing };
struct Filter {
  Column column;
  Test test = Test::exists;
  /// For `created` and `duration`: milliseconds.
  store::RunKey value{};

  bool operator==(const Filter&) const = default;
};

/// Parts of a sorted table, in this order in both directions.
enum class Part { numbers, texts, missing };
/// Where the table goes on: behind this value of the column that it is sorted by, and this job.
struct Place {
  Part part = Part::numbers;
  store::RunKey value{};
  std::int64_t job = 0;
  UnixMillis now{0};  ///< Up to which running jobs' durations count.

  bool operator==(const Place&) const = default;
};

struct Query {
  std::vector<Column> columns{};  ///< Named ones.
  std::vector<Filter> filters{};
  Column sort{};
  bool descending = false;
  std::size_t limit = 0;
  std::optional<Place> after{};
};
/// Error: `invalid_input`, a sentence for people.
Result<Query> query_in(const Json& input);

/// A text for Query::after, and back. None for what no token_of() made.
std::string token_of(const Place& place);
std::optional<Place> place_of(const std::string& token);

}  // namespace muster::runs
