#include "server/store/run_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "server/store/run_names.h"
#include "server/store/run_value.h"
#include "server/store/sqlite.h"

namespace muster::store {
namespace {

constexpr std::size_t parameters_max = 100;  ///< As SageMaker's.
constexpr std::size_t tags_max = 50;
constexpr std::size_t metrics_max = 100;
constexpr std::size_t name_bytes_max = 256;
/// Jobs per transaction of the fill.
constexpr std::int64_t filled_at_once = 200;

/// Different for each job of the SageMaker SDK, or the same for all of them.
constexpr std::array<std::string_view, 4> unshown = {"sagemaker_submit_directory",
                                                     "sagemaker_job_name", "sagemaker_region",
                                                     "sagemaker_container_log_level"};

bool is_shown(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes_max &&
         std::find(unshown.begin(), unshown.end(), name) == unshown.end();
}

Result<void> add_value(Database& database, RunNames& names, std::int64_t job, RunKind kind,
                       const std::string& name, const std::string& written) {
  const RunValue value = run_value(written);
  const std::int64_t id = TRY(names.add(kind, name));
  Statement row = database.statement(
      "INSERT OR REPLACE INTO run_values (job, name, value, text) VALUES (?, ?, ?, ?)");
  row.bind(job).bind(id);
  bind_key(row, value.key);
  const bool is_plain =
      !value.is_number() || (std::holds_alternative<std::int64_t>(value.key) &&
                             std::to_string(std::get<std::int64_t>(value.key)) == value.text);
  if (is_plain)
    row.bind_null();
  else
    row.bind(std::string_view(value.text));
  return row.run();
}

Result<void> add_tags(Database& database, RunNames& names, std::int64_t job, const Tags& tags) {
  std::size_t count = 0;
  std::map<std::string, std::string> last(tags.begin(), tags.end());
  for (const auto& [key, value] : tags) last[key] = value;
  for (const auto& [key, value] : last)
    if (is_shown(key) && ++count <= tags_max)
      TRY(add_value(database, names, job, RunKind::tag, key, value));
  return {};
}

Result<void> add_values(Database& database, RunNames& names, std::int64_t job,
                        const std::string& request, const Tags& tags) {
  const Result<Json> json = parse_json(request);
  const Json none = Json::object();
  const Json* parameters = &none;
  if (json && json->is_object() && json->contains("HyperParameters"))
    parameters = &json->at("HyperParameters");
  std::size_t count = 0;
  if (parameters->is_object())
    for (const auto& [name, value] : parameters->items())
      if (value.is_string() && is_shown(name) && ++count <= parameters_max)
        TRY(add_value(database, names, job, RunKind::hyperparameter, name,
                      value.get_ref<const std::string&>()));
  return add_tags(database, names, job, tags);
}

Result<void> insert_metric(Database& database, std::int64_t job, std::int64_t name,
                           const RunMetric& metric) {
  return database
      .statement(
          "INSERT OR REPLACE INTO run_metrics (job, name, time, last, least, most) "
          "VALUES (?, ?, ?, ?, ?, ?)")
      .bind(job)
      .bind(name)
      .bind(metric.time)
      .bind(metric.last)
      .bind(metric.least)
      .bind(metric.most)
      .run();
}

struct KnownMetric {
  std::int64_t id = 0;
  RunMetric metric;
};

Result<std::map<std::string, KnownMetric>> metrics_of(Database& database, std::int64_t job) {
  Statement rows = database.statement(
      "SELECT n.name, n.id, m.time, m.last, m.least, m.most FROM run_metrics AS m "
      "JOIN run_names AS n ON n.id = m.name WHERE m.job = ?");
  rows.bind(job);
  std::map<std::string, KnownMetric> known;
  while (TRY(rows.step()))
    known[rows.text(0)] = {rows.number(1),
                           {rows.time(2), rows.real(3), rows.real(4), rows.real(5)}};
  return known;
}

/// What the job has of metrics already, from before there were tables of runs.
Result<void> fill_metrics(Database& database, RunNames& names, std::int64_t job) {
  std::vector<std::pair<std::string, RunMetric>> metrics;
  {
    Statement rows = database.statement(
        "SELECT name, time, value, (SELECT min(least) FROM metric_minutes AS m WHERE m.job = f.job "
        "AND m.name = f.name), (SELECT max(most) FROM metric_minutes AS m WHERE m.job = f.job "
        "AND m.name = f.name) FROM final_metrics AS f WHERE job = ? ORDER BY name LIMIT ?");
    rows.bind(job).bind(static_cast<std::int64_t>(metrics_max));
    while (TRY(rows.step()))
      metrics.emplace_back(rows.text(0),
                           RunMetric{rows.time(1), rows.real(2), rows.real(3), rows.real(4)});
  }
  for (const auto& [name, metric] : metrics) {
    if (name.empty() || name.size() > name_bytes_max) continue;
    const std::int64_t id = TRY(names.add(RunKind::metric, name));
    TRY(insert_metric(database, job, id, metric));
  }
  return {};
}

Result<Tags> tags_of(Database& database, const std::string& arn) {
  Statement rows = database.statement("SELECT key, value FROM tags WHERE arn = ? ORDER BY key");
  rows.bind(arn);
  Tags tags;
  while (TRY(rows.step())) tags.emplace_back(rows.text(0), rows.text(1));
  return tags;
}

Result<void> forget_unused_names(Database& database) {
  return database.run("DELETE FROM run_names WHERE kind IN (0, 1, 2) AND jobs <= 0");
}

struct Unfilled {
  std::int64_t number = 0;
  std::string arn;
  std::string request;
};

Result<std::vector<Unfilled>> next_unfilled(Database& database) {
  Statement rows = database.statement(
      "SELECT number, arn, request FROM jobs WHERE number > (SELECT job FROM runs_fill) "
      "AND number <= (SELECT until FROM runs_fill) ORDER BY number LIMIT ?");
  rows.bind(filled_at_once);
  std::vector<Unfilled> jobs;
  while (TRY(rows.step())) jobs.push_back({rows.number(0), rows.text(1), rows.text(2)});
  return jobs;
}

/// The number of jobs that were added; 0: all of them have been.
Result<std::int64_t> fill_some(Database& database) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(database, false));
  const std::vector<Unfilled> jobs = TRY(next_unfilled(database));
  RunNames names(database);
  for (const Unfilled& job : jobs) {
    const Tags tags = TRY(tags_of(database, job.arn));
    TRY(add_values(database, names, job.number, job.request, tags));
    TRY(fill_metrics(database, names, job.number));
  }
  TRY(names.count());
  if (!jobs.empty())
    TRY(database.statement("UPDATE runs_fill SET job = ?").bind(jobs.back().number).run());
  TRY(transaction->commit());
  return static_cast<std::int64_t>(jobs.size());
}

}  // namespace

void RunMetric::add(const RunMetric& other) {
  if (other.time >= time) {
    time = other.time;
    last = other.last;
  }
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

Result<void> add_run(Database& database, std::int64_t job, const std::string& request,
                     const Tags& tags) {
  RunNames names(database);
  TRY(add_values(database, names, job, request, tags));
  return names.count();
}

Result<void> retag_run(Database& database, const std::string& arn) {
  std::int64_t job = 0;
  {
    Statement row = database.statement("SELECT number FROM jobs WHERE arn = ?");
    const bool is_job = TRY(row.bind(arn).step());
    if (!is_job) return {};
    job = row.number(0);
  }
  TRY(database
          .statement("UPDATE run_names SET jobs = jobs - 1 WHERE +kind = 1 AND id IN "
                     "(SELECT name FROM run_values WHERE job = ?)")
          .bind(job)
          .run());
  TRY(database
          .statement("DELETE FROM run_values WHERE job = ? AND "
                     "(SELECT kind FROM run_names WHERE id = run_values.name) = 1")
          .bind(job)
          .run());
  const Tags tags = TRY(tags_of(database, arn));
  RunNames names(database);
  TRY(add_tags(database, names, job, tags));
  TRY(names.count());
  return forget_unused_names(database);
}

Result<void> put_run_metrics(Database& database, std::int64_t job,
                             const std::map<std::string, RunMetric>& metrics) {
  std::map<std::string, KnownMetric> known = TRY(metrics_of(database, job));
  RunNames names(database);
  std::size_t count = known.size();
  for (const auto& [name, metric] : metrics) {
    const auto found = known.find(name);
    const bool is_known = found != known.end();
    if (!is_known && (count >= metrics_max || name.empty() || name.size() > name_bytes_max))
      continue;
    RunMetric all = is_known ? found->second.metric : metric;
    all.add(metric);
    if (is_known && all == found->second.metric) continue;
    const std::int64_t id = is_known ? found->second.id : TRY(names.add(RunKind::metric, name));
    if (!is_known) ++count;
    TRY(insert_metric(database, job, id, all));
  }
  return names.count();
}

Result<void> remove_run(Database& database, std::int64_t job) {
  TRY(database
          .statement("UPDATE run_names SET jobs = jobs - 1 WHERE id IN (SELECT name FROM "
                     "run_values WHERE job = ?1 UNION ALL SELECT name FROM run_metrics "
                     "WHERE job = ?1)")
          .bind(job)
          .run());
  TRY(database.statement("DELETE FROM run_values WHERE job = ?").bind(job).run());
  TRY(database.statement("DELETE FROM run_metrics WHERE job = ?").bind(job).run());
  return forget_unused_names(database);
}

Result<void> fill_runs(Database& database, const FillProgress& progress) {
  std::int64_t done = 0, all = 0;
  {
    Statement row = database.statement(
        "SELECT (SELECT count(*) FROM jobs WHERE number <= job), (SELECT count(*) FROM jobs WHERE "
        "number <= until) FROM runs_fill");
    TRY(row.step());
    done = row.number(0);
    all = row.number(1);
  }
  while (const std::int64_t added = TRY(fill_some(database))) {
    done += added;
    if (progress) progress(done, all);
  }
  return {};
}

}  // namespace muster::store
