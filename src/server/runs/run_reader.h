#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/runs/run_query.h"
#include "server/store/store.h"

namespace muster::store {
class Statement;
}  // namespace muster::store

namespace muster::runs {

class JobSet;

/// Missing, a metric's value, or a hyperparameter's or tag's.
using Cell = std::variant<std::monostate, double, store::RunValue>;

struct Run {
  std::string name;
  std::string status;
  std::string secondary;
  UnixMillis created{0};
  std::optional<std::chrono::milliseconds> duration;
  std::vector<Cell> values;  ///< In the order of the columns.
};

struct RunPage {
  std::vector<Run> runs;
  std::int64_t matching = 0;
  std::int64_t total = 0;
  std::optional<Place> next;  ///< None: this is the last page.
};

struct RunNames {
  std::vector<std::pair<std::string, std::int64_t>> names;  ///< With the number of their jobs.
  bool more = false;
};

struct ComparedRow {
  Column column;
  std::vector<Cell> values;
  bool differs = false;
};
struct Comparison {
  std::vector<Run> runs;  ///< Without values.
  std::vector<std::string> unknown;
  std::vector<ComparedRow> rows;
  std::size_t left_out = 0;
};

/// Reads the table of runs on a read-only connection of its own. For one call: all answers are of
/// one moment. On any thread, one at a time. Errors: `system` with SQLite's text, `unsupported`.
class RunReader {
 public:
  /// As MetricReader::open().
  static Result<RunReader> open(const std::string& path, std::function<bool()> gone = {});
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  /// `now`: wall clock, up to which running jobs' durations count.
  Result<RunPage> page(const Query& query, UnixMillis now);
  /// The most frequent names of `field`, which is named, that contain a text.
  Result<RunNames> names(Field field, const std::string& contains);
  Result<Comparison> compare(const std::vector<std::string>& jobs, UnixMillis now);

 private:
  using Found = std::pair<store::RunKey, std::int64_t>;  ///< A value, and a job's number.

  explicit RunReader(std::unique_ptr<store::Database> database);
  Result<void> count_row();
  Result<std::int64_t> id_of(const Column& column);
  Result<void> mark(store::Statement& rows, JobSet& set);
  Result<JobSet> all_jobs();
  Result<JobSet> jobs_with(const Filter& filter, UnixMillis now);
  Result<JobSet> jobs_lasting(const Filter& filter, UnixMillis now);
  Result<JobSet> matching(const std::vector<Filter>& filters, UnixMillis now);
  Result<std::vector<Place>> walk(const Query& query, const JobSet& set, std::size_t limit,
                                  UnixMillis now);
  Result<void> walk_values(const Query& query, const JobSet& set, Part part, std::size_t limit,
                           std::vector<Place>& found);
  Result<void> walk_durations(const Query& query, const JobSet& set, std::size_t limit,
                              UnixMillis now, std::vector<Place>& found);
  Result<void> walk_missing(const Query& query, const JobSet& set, std::size_t limit,
                            UnixMillis now, std::vector<Place>& found);
  Result<std::optional<Run>> run_of(std::int64_t job, UnixMillis now);
  Result<std::vector<std::pair<Column, Cell>>> values_of(std::int64_t job);
  Result<void> fill(std::int64_t job, const std::vector<std::pair<Column, std::int64_t>>& columns,
                    Run& run);

  std::unique_ptr<store::Database> database_;
  std::int64_t rows_ = 0;
};

}  // namespace muster::runs
