#include "server/runs/run_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>

#include "server/runs/job_set.h"
#include "server/store/run_names.h"
#include "server/store/sqlite.h"

namespace muster::runs {
namespace {

using store::RunKey;
using store::RunKind;
using store::Statement;

/// Rows that one call looks at. With 50,000 jobs it looks at 500,000.
constexpr std::int64_t rows_max = 20'000'000;
constexpr std::size_t names_max = 500;
constexpr std::int64_t names_looked_at_max = 100'000;
constexpr std::size_t compared_rows_max = 1000;

RunKind kind_of(Field field) {
  if (field == Field::hyperparameter) return RunKind::hyperparameter;
  return field == Field::tag ? RunKind::tag : RunKind::metric;
}

/// Where a column's values are, of all jobs and sorted: each table has an index that covers them.
struct Source {
  std::string table;
  std::string value;
  std::string job;
};
Source source_of(Field field) {
  switch (field) {
    case Field::name:
      return {"jobs", "name", "number"};
    case Field::status:
      return {"jobs INDEXED BY jobs_status", "status", "number"};
    case Field::created:
      return {"jobs INDEXED BY jobs_created", "created", "number"};
    case Field::duration:
      return {"jobs INDEXED BY jobs_times", "training_start", "number"};
    case Field::hyperparameter:
    case Field::tag:
      return {"run_values INDEXED BY run_values_value", "value", "job"};
    case Field::last:
      return {"run_metrics INDEXED BY run_metrics_last", "last", "job"};
    case Field::least:
      return {"run_metrics INDEXED BY run_metrics_least", "least", "job"};
    case Field::most:
      return {"run_metrics INDEXED BY run_metrics_most", "most", "job"};
  }
  return {};
}

/// The value of a named column is `?1`'s.
std::string select_jobs(const Column& column, const std::string& more = {}) {
  const Source source = source_of(column.field);
  return "SELECT " + source.job + more + " FROM " + source.table + " WHERE " +
         (column.is_named() ? "name = ?1" : "?1 IS NOT NULL");
}

/// The parts that a table sorted by the column can have.
std::vector<Part> parts_of(Field field) {
  if (field == Field::name || field == Field::status) return {Part::texts};
  if (field == Field::created) return {Part::numbers};
  if (field == Field::hyperparameter || field == Field::tag)
    return {Part::numbers, Part::texts, Part::missing};
  return {Part::numbers, Part::missing};
}

/// The condition of a filter whose value is `?2`. Numbers are less than texts, whose least is ''.
std::string condition_of(const Filter& filter) {
  const std::string value = source_of(filter.column.field).value;
  const bool is_text = std::holds_alternative<std::string>(filter.value);
  const bool is_mixed =
      filter.column.field == Field::hyperparameter || filter.column.field == Field::tag;
  const std::string only_texts = is_mixed && is_text ? " AND " + value + " >= ''" : "";
  const std::string only_numbers = is_mixed && !is_text ? " AND " + value + " < ''" : "";
  switch (filter.test) {
    case Test::equal:
      return value + " = ?2";
    case Test::unequal:
      return value + " <> ?2";
    case Test::less:
      return value + " < ?2" + only_texts;
    case Test::at_most:
      return value + " <= ?2" + only_texts;
    case Test::more:
      return value + " > ?2" + only_numbers;
    case Test::at_least:
      return value + " >= ?2" + only_numbers;
    case Test::contains:
      return "instr(" + (is_mixed ? "coalesce(text, value)" : value) + ", ?2) > 0";
    case Test::exists:
    case Test::missing:
      return "?2 IS NOT NULL";
  }
  return {};
}

bool holds(Test test, std::int64_t value, std::int64_t wanted) {
  switch (test) {
    case Test::less:
      return value < wanted;
    case Test::at_most:
      return value <= wanted;
    case Test::more:
      return value > wanted;
    case Test::at_least:
      return value >= wanted;
    default:
      return true;
  }
}

RunKey key_in(const Statement& row, int column) {
  if (row.kind(column) == Statement::Kind::text) return row.text(column);
  if (row.kind(column) == Statement::Kind::integer) return row.number(column);
  return row.real(column);
}

store::RunValue value_in(const Statement& row, int value, int text) {
  RunKey key = key_in(row, value);
  if (row.kind(text) != Statement::Kind::null) return {std::move(key), row.text(text)};
  return {std::move(key), row.text(value)};
}

std::int64_t milliseconds_in(const RunKey& key) {
  const auto* const whole = std::get_if<std::int64_t>(&key);
  return whole != nullptr ? *whole : 0;
}

/// The row has the start and the end of training in these columns. None: it has not started.
std::optional<std::chrono::milliseconds> duration_in(const Statement& row, int start, int end,
                                                     UnixMillis now) {
  const std::optional<UnixMillis> began = row.maybe_time(start);
  if (!began) return std::nullopt;
  return std::max(row.maybe_time(end).value_or(now) - *began, std::chrono::milliseconds(0));
}

bool same(const Cell& a, const Cell& b) {
  const auto* const one = std::get_if<store::RunValue>(&a);
  const auto* const other = std::get_if<store::RunValue>(&b);
  if (one != nullptr && other != nullptr) return one->key == other->key;
  return a == b;
}

/// Hyperparameters, metrics, tags; those that differ first; by name.
auto order_of(const ComparedRow& row) {
  const Column& column = row.column;
  const int group = column.field == Field::tag ? 2 : column.is_metric() ? 1 : 0;
  return std::tuple(group, !row.differs, column.name, column.field);
}

}  // namespace

RunReader::RunReader(std::unique_ptr<store::Database> database) : database_(std::move(database)) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

Result<RunReader> RunReader::open(const std::string& path, std::function<bool()> gone) {
  RunReader reader(TRY(store::Database::open_to_read(path)));
  TRY(reader.database_->run("BEGIN"));
  reader.database_->stop_when(std::move(gone));
  return reader;
}

Result<void> RunReader::count_row() {
  if (++rows_ <= rows_max) return {};
  return fail(Errc::unsupported, "there are too many jobs for this table");
}

/// 0: no job has it.
Result<std::int64_t> RunReader::id_of(const Column& column) {
  if (!column.is_named()) return 0;
  Statement row = database_->statement("SELECT id FROM run_names WHERE kind = ? AND name = ?");
  row.bind(static_cast<std::int64_t>(kind_of(column.field))).bind(column.name);
  const bool is_known = TRY(row.step());
  return is_known ? row.number(0) : 0;
}

Result<void> RunReader::mark(Statement& rows, JobSet& set) {
  while (TRY(rows.step())) {
    TRY(count_row());
    set.add(rows.number(0));
  }
  return {};
}

Result<JobSet> RunReader::all_jobs() {
  JobSet set;
  Statement rows = database_->statement("SELECT number FROM jobs INDEXED BY jobs_status");
  TRY(mark(rows, set));
  return set;
}

Result<JobSet> RunReader::jobs_lasting(const Filter& filter, UnixMillis now) {
  JobSet set;
  Statement rows = database_->statement(
      "SELECT number, training_start, training_end FROM jobs INDEXED BY jobs_times "
      "WHERE training_start IS NOT NULL");
  while (TRY(rows.step())) {
    TRY(count_row());
    if (holds(filter.test, duration_in(rows, 1, 2, now)->count(), milliseconds_in(filter.value)))
      set.add(rows.number(0));
  }
  return set;
}

/// For a filter for missing values: the jobs that have one.
Result<JobSet> RunReader::jobs_with(const Filter& filter, UnixMillis now) {
  if (filter.column.field == Field::duration) return jobs_lasting(filter, now);
  JobSet set;
  const std::int64_t id = TRY(id_of(filter.column));
  Statement rows =
      database_->statement(select_jobs(filter.column) + " AND " + condition_of(filter));
  rows.bind(id);
  store::bind_key(rows, filter.value);
  TRY(mark(rows, set));
  return set;
}

Result<JobSet> RunReader::matching(const std::vector<Filter>& filters, UnixMillis now) {
  std::optional<JobSet> set;
  for (const Filter& each : filters) {
    if (each.test == Test::missing) continue;
    JobSet own = TRY(jobs_with(each, now));
    if (set)
      set->keep(own);
    else
      set = std::move(own);
  }
  if (!set) set = TRY(all_jobs());
  for (const Filter& each : filters)
    if (each.test == Test::missing) set->remove(TRY(jobs_with(each, now)));
  return *std::move(set);
}

Result<void> RunReader::walk_values(const Query& query, const JobSet& set, Part part,
                                    std::size_t limit, std::vector<Place>& found) {
  const Source source = source_of(query.sort.field);
  const bool goes_on = query.after && query.after->part == part;
  const std::string direction = query.descending ? " DESC" : "";
  std::string text = select_jobs(query.sort, ", " + source.value);
  const bool is_mixed = query.sort.field == Field::hyperparameter || query.sort.field == Field::tag;
  // One bound in each direction, so that the index gives no other rows.
  if (is_mixed && part == Part::numbers && !(goes_on && query.descending))
    text += " AND value < ''";
  if (is_mixed && part == Part::texts && (!goes_on || query.descending)) text += " AND value >= ''";
  if (goes_on)
    text += " AND (" + source.value + ", " + source.job + ")" + (query.descending ? " <" : " >") +
            " (?2, ?3)";
  text += " ORDER BY " + source.value + direction + ", " + source.job + direction;
  const std::int64_t id = TRY(id_of(query.sort));
  Statement rows = database_->statement(text);
  rows.bind(id);
  if (goes_on) {
    store::bind_key(rows, query.after->value);
    rows.bind(query.after->job);
  }
  while (found.size() < limit && TRY(rows.step())) {
    TRY(count_row());
    const std::int64_t job = rows.number(0);
    if (set.has(job)) found.push_back({part, key_in(rows, 1), job});
  }
  return {};
}

Result<void> RunReader::walk_durations(const Query& query, const JobSet& set, std::size_t limit,
                                       UnixMillis now, std::vector<Place>& found) {
  using Lasting = std::pair<std::int64_t, std::int64_t>;  // Milliseconds, and the job.
  std::optional<Lasting> after;
  if (query.after && query.after->part == Part::numbers)
    after.emplace(milliseconds_in(query.after->value), query.after->job);
  std::vector<Lasting> all;
  Statement rows = database_->statement(
      "SELECT number, training_start, training_end FROM jobs INDEXED BY jobs_times "
      "WHERE training_start IS NOT NULL");
  while (TRY(rows.step())) {
    TRY(count_row());
    const Lasting own{duration_in(rows, 1, 2, now)->count(), rows.number(0)};
    const bool is_behind = !after || (query.descending ? own < *after : own > *after);
    if (is_behind && set.has(own.second)) all.push_back(own);
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size()));
  if (query.descending)
    std::partial_sort(all.begin(), end, all.end(), std::greater<>());
  else
    std::partial_sort(all.begin(), end, all.end());
  for (auto each = all.begin(); each != end; ++each)
    found.push_back({Part::numbers, each->first, each->second});
  return {};
}

Result<void> RunReader::walk_missing(const Query& query, const JobSet& set, std::size_t limit,
                                     UnixMillis now, std::vector<Place>& found) {
  const JobSet having = TRY(jobs_with({query.sort, Test::exists}, now));
  const auto take = [&](std::int64_t job) {
    if (set.has(job) && !having.has(job)) found.push_back({Part::missing, std::int64_t{0}, job});
    return found.size() < limit;
  };
  const bool goes_on = query.after && query.after->part == Part::missing;
  if (query.descending) {
    std::int64_t job = goes_on ? std::min(query.after->job, set.last()) : set.last();
    while (--job >= 0 && take(job)) {
    }
  } else {
    std::int64_t job = goes_on ? query.after->job : -1;
    while (++job < set.last() && take(job)) {
    }
  }
  return {};
}

Result<std::vector<Place>> RunReader::walk(const Query& query, const JobSet& set, std::size_t limit,
                                           UnixMillis now) {
  std::vector<Place> found;
  for (const Part part : parts_of(query.sort.field)) {
    if (found.size() >= limit || (query.after && part < query.after->part)) continue;
    if (part == Part::missing)
      TRY(walk_missing(query, set, limit, now, found));
    else if (query.sort.field == Field::duration)
      TRY(walk_durations(query, set, limit, now, found));
    else
      TRY(walk_values(query, set, part, limit, found));
  }
  return found;
}

Result<std::optional<Run>> RunReader::run_of(std::int64_t job, UnixMillis now) {
  Statement row = database_->statement(
      "SELECT name, status, secondary, created, training_start, training_end FROM jobs "
      "WHERE number = ?");
  const bool is_known = TRY(row.bind(job).step());
  if (!is_known) return std::optional<Run>();
  return std::optional<Run>(
      Run{row.text(0), row.text(1), row.text(2), row.time(3), duration_in(row, 4, 5, now), {}});
}

Result<void> RunReader::fill(std::int64_t job,
                             const std::vector<std::pair<Column, std::int64_t>>& columns,
                             Run& run) {
  run.values.resize(columns.size());
  const auto put = [&](std::int64_t id, bool is_metric, const auto& cell_of) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].second == id && columns[i].first.is_metric() == is_metric)
        run.values[i] = cell_of(columns[i].first.field);
  };
  {
    Statement rows = database_->statement("SELECT name, value, text FROM run_values WHERE job = ?");
    rows.bind(job);
    while (TRY(rows.step()))
      put(rows.number(0), false, [&](Field) { return Cell(value_in(rows, 1, 2)); });
  }
  Statement rows =
      database_->statement("SELECT name, last, least, most FROM run_metrics WHERE job = ?");
  rows.bind(job);
  while (TRY(rows.step()))
    put(rows.number(0), true, [&](Field field) {
      return Cell(rows.real(field == Field::last ? 1 : field == Field::least ? 2 : 3));
    });
  return {};
}

Result<RunPage> RunReader::page(const Query& query, UnixMillis now) {
  if (query.after) now = query.after->now;
  const JobSet set = TRY(matching(query.filters, now));
  RunPage page;
  page.matching = set.count();
  {
    Statement row = database_->statement("SELECT count(*) FROM jobs");
    TRY(row.step());
    page.total = row.number(0);
  }
  std::vector<Place> places = TRY(walk(query, set, query.limit + 1, now));
  if (places.size() > query.limit) {
    places.resize(query.limit);
    page.next = places.back();
    page.next->now = now;
  }
  std::vector<std::pair<Column, std::int64_t>> columns;
  for (const Column& each : query.columns) columns.emplace_back(each, TRY(id_of(each)));
  for (const Place& place : places) {
    std::optional<Run> run = TRY(run_of(place.job, now));
    if (!run) continue;
    if (!columns.empty()) TRY(fill(place.job, columns, *run));
    page.runs.push_back(*std::move(run));
  }
  return page;
}

Result<RunNames> RunReader::names(Field field, const std::string& contains) {
  Statement rows = database_->statement(
      "SELECT name, jobs FROM run_names WHERE kind = ? ORDER BY jobs DESC, name LIMIT ?");
  rows.bind(static_cast<std::int64_t>(kind_of(field))).bind(names_looked_at_max + 1);
  RunNames found;
  std::int64_t looked_at = 0;
  while (TRY(rows.step())) {
    std::string name = rows.text(0);
    const bool matches = name.find(contains) != std::string::npos;
    found.more = ++looked_at > names_looked_at_max || (matches && found.names.size() == names_max);
    if (found.more) break;
    if (matches) found.names.emplace_back(std::move(name), rows.number(1));
  }
  return found;
}

Result<std::vector<std::pair<Column, Cell>>> RunReader::values_of(std::int64_t job) {
  std::vector<std::pair<Column, Cell>> values;
  {
    Statement rows = database_->statement(
        "SELECT n.kind, n.name, v.value, v.text FROM run_values AS v JOIN run_names AS n "
        "ON n.id = v.name WHERE v.job = ?");
    rows.bind(job);
    const auto tag = static_cast<std::int64_t>(RunKind::tag);
    while (TRY(rows.step()))
      values.emplace_back(
          Column{rows.number(0) == tag ? Field::tag : Field::hyperparameter, rows.text(1)},
          value_in(rows, 2, 3));
  }
  Statement rows = database_->statement(
      "SELECT n.name, m.last, m.least, m.most FROM run_metrics AS m JOIN run_names AS n "
      "ON n.id = m.name WHERE m.job = ?");
  rows.bind(job);
  while (TRY(rows.step()))
    for (int i = 0; i < 3; ++i) {
      constexpr std::array<Field, 3> fields = {Field::last, Field::least, Field::most};
      values.emplace_back(Column{fields[static_cast<std::size_t>(i)], rows.text(0)},
                          rows.real(1 + i));
    }
  return values;
}

Result<Comparison> RunReader::compare(const std::vector<std::string>& jobs, UnixMillis now) {
  Comparison compared;
  std::vector<std::int64_t> numbers;
  for (const std::string& name : jobs) {
    Statement row = database_->statement("SELECT number FROM jobs WHERE name = ?");
    const bool is_known = TRY(row.bind(name).step());
    const std::int64_t number = is_known ? row.number(0) : 0;
    if (!is_known) compared.unknown.push_back(name);
    if (is_known && std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      numbers.push_back(number);
  }
  std::map<std::pair<Field, std::string>, std::vector<Cell>> cells;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    compared.runs.push_back(TRY(run_of(numbers[i], now)).value_or(Run{}));
    for (auto& [column, cell] : TRY(values_of(numbers[i]))) {
      std::vector<Cell>& row = cells[{column.field, column.name}];
      row.resize(numbers.size());
      row[i] = std::move(cell);
    }
  }
  for (auto& [key, values] : cells) {
    const Cell& first = values.front();
    const bool differs = std::any_of(values.begin(), values.end(),
                                     [&first](const Cell& each) { return !same(each, first); });
    compared.rows.push_back({{key.first, key.second}, std::move(values), differs});
  }
  std::sort(compared.rows.begin(), compared.rows.end(),
            [](const ComparedRow& a, const ComparedRow& b) { return order_of(a) < order_of(b); });
  if (compared.rows.size() > compared_rows_max) {
    compared.left_out = compared.rows.size() - compared_rows_max;
    compared.rows.resize(compared_rows_max);
  }
  return compared;
}

}  // namespace muster::runs
