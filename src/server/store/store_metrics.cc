// The store's tables of metrics: by second, by minute, by step, and the latest value of each.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "server/store/run_rows.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace muster::store {

void MetricSecond::add(double value) {
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  ++count;
}

void MetricSecond::add(const MetricSecond& other) {
  if (other.count == 0) return;
  least = count == 0 ? other.least : std::min(least, other.least);
  most = count == 0 ? other.most : std::max(most, other.most);
  sum += other.sum;
  count += other.count;
}

namespace {

constexpr const char* add_to_seconds =
    "INSERT INTO metrics (job, name, second, sum, least, most, count) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET sum = sum + excluded.sum, "
    "least = min(least, excluded.least), most = max(most, excluded.most), "
    "count = count + excluded.count";
constexpr const char* add_to_minutes =
    "INSERT INTO metric_minutes (job, name, second, sum, least, most, count) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET sum = sum + excluded.sum, "
    "least = min(least, excluded.least), most = max(most, excluded.most), "
    "count = count + excluded.count";

Result<void> add_metric(Database& database, const char* statement, std::int64_t job,
                        const std::string& name, const MetricSecond& second) {
  return database.statement(statement)
      .bind(job)
      .bind(name)
      .bind(second.second)
      .bind(second.sum)
      .bind(second.least)
      .bind(second.most)
      .bind(second.count)
      .run();
}

Result<void> put_final(Database& database, std::int64_t job, const std::string& name,
                       const RunMetric& metric) {
  return database
      .statement(
          "INSERT INTO final_metrics (job, name, time, value) VALUES (?, ?, ?, ?) "
          "ON CONFLICT DO UPDATE SET time = excluded.time, value = excluded.value "
          "WHERE excluded.time >= time")
      .bind(job)
      .bind(name)
      .bind(metric.time)
      .bind(metric.last)
      .run();
}

/// The samples of one step in one attempt.
struct StepSamples {
  int attempt = 0;
  MetricSecond sum;
};
using Place = std::pair<std::string, std::int64_t>;  ///< A metric's name, and the first step.

std::map<Place, StepSamples> by_step(const std::vector<MetricSample>& samples) {
  std::map<Place, StepSamples> steps;
  for (const MetricSample& each : samples) {
    if (!each.step) continue;
    StepSamples& own = steps[{each.name, *each.step}];
    if (each.attempt < own.attempt) continue;
    if (each.attempt > own.attempt) own = {each.attempt, {*each.step}};
    own.sum.add(each.value);
  }
  return steps;
}

/// A later attempt's values stay, whichever host's log is read first.
constexpr const char* add_to_steps =
    "INSERT INTO metric_steps (job, name, width, step, attempt, sum, least, most, count) "
    "VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET attempt = excluded.attempt, "
    "sum = excluded.sum + iif(excluded.attempt > attempt, 0, sum), "
    "least = iif(excluded.attempt > attempt, excluded.least, min(least, excluded.least)), "
    "most = iif(excluded.attempt > attempt, excluded.most, max(most, excluded.most)), "
    "count = excluded.count + iif(excluded.attempt > attempt, 0, count) "
    "WHERE excluded.attempt >= attempt RETURNING count";

/// Sums up the ranges of `width` steps at `places` anew, since values may have been replaced.
Result<void> sum_steps(Database& database, std::int64_t job, const std::set<Place>& places,
                       std::int64_t width) {
  for (const auto& [name, step] : places)
    TRY(database
            .statement("INSERT OR REPLACE INTO metric_steps (job, name, width, step, attempt, sum, "
                       "least, most, count) SELECT job, name, ?3, ?4, 0, sum(sum), min(least), "
                       "max(most), sum(count) FROM metric_steps WHERE job = ?1 AND name = ?2 "
                       "AND width = ?5 AND step >= ?4 AND step < ?4 + ?3 GROUP BY job, name")
            .bind(job)
            .bind(name)
            .bind(width)
            .bind(step)
            .bind(width / step_factor)
            .run());
  return {};
}

/// True if its samples are the only ones of the step.
Result<bool> put_step(Database& database, std::int64_t job, const Place& place,
                      const StepSamples& own) {
  Statement row = database.statement(add_to_steps);
  row.bind(job)
      .bind(place.first)
      .bind(place.second)
      .bind(std::int64_t{own.attempt})
      .bind(own.sum.sum)
      .bind(own.sum.least)
      .bind(own.sum.most)
      .bind(own.sum.count);
  const bool has_changed = TRY(row.step());
  return has_changed && row.number(0) == own.sum.count;
}

/// The number of steps that were added; at most `most`, the others are left out.
Result<std::int64_t> put_steps(Database& database, std::int64_t job,
                               const std::map<Place, StepSamples>& steps, std::int64_t most) {
  std::set<Place> places;
  std::int64_t added = 0;
  for (const auto& [place, own] : steps) {
    if (added >= most) break;
    added += TRY(put_step(database, job, place, own)) ? 1 : 0;
    places.insert(place);
  }
  for (const std::int64_t width : step_widths) {
    if (width == 1) continue;
    std::set<Place> wider;
    for (const auto& [name, step] : places) wider.emplace(name, step - step % width);
    TRY(sum_steps(database, job, wider, width));
    places = std::move(wider);
  }
  return added;
}

/// The number of the job's values by step so far.
Result<std::int64_t> steps_known(Database& database, std::int64_t job) {
  Statement row =
      database.statement("SELECT coalesce(sum(steps), 0) FROM metrics_read WHERE job = ?");
  TRY(row.bind(job).step());
  return row.number(0);
}

}  // namespace

Result<void> Store::put_metrics(const std::string& job, const std::string& host,
                                const std::vector<MetricSample>& samples, std::uint64_t read_to) {
  std::map<std::pair<std::string, std::int64_t>, MetricSecond> by_second, by_minute;
  std::map<std::string, RunMetric> by_name;
  for (const MetricSample& each : samples) {
    const std::int64_t second = std::chrono::floor<std::chrono::seconds>(each.time).count();
    MetricSecond& bucket = by_second[{each.name, second}];
    bucket.second = second;
    bucket.add(each.value);
    const std::int64_t minute = second - second % metric_minute;
    MetricSecond& wide = by_minute[{each.name, minute}];
    wide.second = minute;
    wide.add(each.value);
    const RunMetric own{each.time, each.value, each.value, each.value};
    by_name.try_emplace(each.name, own).first->second.add(own);
  }
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  const std::int64_t number = TRY(number_of(job));
  if (number == 0) return {};
  for (const auto& [key, second] : by_second)
    TRY(add_metric(*database_, add_to_seconds, number, key.first, second));
  for (const auto& [key, minute] : by_minute)
    TRY(add_metric(*database_, add_to_minutes, number, key.first, minute));
  const std::int64_t known = TRY(steps_known(*database_, number));
  const std::int64_t added =
      TRY(put_steps(*database_, number, by_step(samples), metric_steps_max - known));
  for (const auto& [name, metric] : by_name) TRY(put_final(*database_, number, name, metric));
  TRY(put_run_metrics(*database_, number, by_name));
  TRY(database_
          ->statement("INSERT INTO metrics_read (job, host, events, steps) VALUES (?, ?, ?, ?) "
                      "ON CONFLICT DO UPDATE SET events = excluded.events, "
                      "steps = steps + excluded.steps")
          .bind(number)
          .bind(host)
          .bind(static_cast<std::int64_t>(read_to))
          .bind(added)
          .run());
  return transaction->commit();
}

Result<std::uint64_t> Store::metrics_read_to(const std::string& job, const std::string& host) {
  Statement row = database_->statement(
      "SELECT events FROM metrics_read JOIN jobs ON jobs.number = job WHERE name = ? AND host = ?");
  const bool found = TRY(row.bind(job).bind(host).step());
  return found ? static_cast<std::uint64_t>(row.number(0)) : std::uint64_t{0};
}

Result<std::vector<MetricSample>> Store::final_metrics(const std::string& job,
                                                       const std::string& after,
                                                       std::int64_t most) {
  Statement rows = database_->statement(
      "SELECT name, time, value FROM final_metrics "
      "WHERE job = (SELECT number FROM jobs WHERE name = ?) AND name > ? ORDER BY name LIMIT ?");
  rows.bind(job).bind(after).bind(most);
  std::vector<MetricSample> samples;
  while (TRY(rows.step())) samples.push_back({rows.text(0), rows.time(1), rows.real(2)});
  return samples;
}

}  // namespace muster::store
