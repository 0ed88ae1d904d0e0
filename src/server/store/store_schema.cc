#include "server/store/store_schema.h"

#include <array>
#include <string>

#include "server/store/run_rows.h"
#include "server/store/sqlite.h"

namespace muster::store {
namespace {

/// Step i leads from version i to i + 1. Published steps never change: a new one is added. Times
/// are milliseconds since 1970. `request` is last, so that lists need not read past it.
constexpr std::array<const char*, 18> steps = {R"sql(
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT not null UNIQUE,
  arn TEXT not null,
  status TEXT not null,
  secondary TEXT not null,
  created INTEGER not null,
  modified INTEGER not null,
  training_start INTEGER,
  training_end INTEGER,
  streams INTEGER,
  failure_reason TEXT not null DEFAULT '',
  model_artifacts TEXT not null DEFAULT '',
  note TEXT not null DEFAULT '',
  request TEXT not null);
CREATE INDEX jobs_created ON jobs (created, number);
CREATE INDEX jobs_status ON jobs (status, number);
CREATE TABLE transitions (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  place INTEGER not null,
  status TEXT not null,
  message TEXT not null,
  start INTEGER not null,
  end INTEGER,
  PRIMARY KEY (job, place)) WITHOUT ROWID;
CREATE TABLE invocations (
  id TEXT PRIMARY KEY,
  job TEXT not null,
  created INTEGER not null) WITHOUT ROWID;
CREATE TABLE tags (
  arn TEXT not null,
  key TEXT not null,
  value TEXT not null,
  PRIMARY KEY (arn, key)) WITHOUT ROWID;
CREATE TABLE metrics (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name TEXT not null,
  second INTEGER not null,
  sum REAL not null,
  least REAL not null,
  most REAL not null,
  count INTEGER not null,
  PRIMARY KEY (job, name, second)) WITHOUT ROWID;
CREATE TABLE final_metrics (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name TEXT not null,
  time INTEGER not null,
  value REAL not null,
  PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE TABLE metrics_read (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  host TEXT not null,
  events INTEGER not null,
  PRIMARY KEY (job, host)) WITHOUT ROWID;
CREATE TABLE access_keys (
  id TEXT PRIMARY KEY,
  secret TEXT not null,
  token TEXT not null,
  job TEXT not null,
  policy TEXT not null,
  created INTEGER not null);
CREATE INDEX access_keys_job ON access_keys (job);
)sql",
                                               R"sql(
ALTER TABLE access_keys ADD COLUMN comment TEXT not null DEFAULT '';
)sql",
                                               R"sql(
ALTER TABLE jobs ADD COLUMN notes TEXT not null DEFAULT '';
)sql",
                                               R"sql(
ALTER TABLE jobs ADD COLUMN access_key TEXT not null DEFAULT '';
CREATE INDEX jobs_ended ON jobs (training_end);
)sql",
                                               R"sql(
CREATE TABLE stacks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT not null,
  arn TEXT not null UNIQUE,
  token TEXT not null,
  created INTEGER not null,
  deleted INTEGER,
  request TEXT not null,
  made TEXT not null,
  networks TEXT not null);
CREATE UNIQUE INDEX stacks_living ON stacks (name) WHERE deleted IS null;
)sql",
                                               R"sql(
ALTER TABLE jobs ADD COLUMN cause TEXT not null DEFAULT '';
CREATE TABLE tries (id INTEGER PRIMARY KEY, time INTEGER not null);
)sql",
                                               R"sql(
CREATE TABLE metric_minutes (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name TEXT not null,
  second INTEGER not null,
  sum REAL not null,
  least REAL not null,
  most REAL not null,
  count INTEGER not null,
  PRIMARY KEY (job, name, second)) WITHOUT ROWID;
INSERT INTO metric_minutes
  SELECT job, name, second / 60 * 60, sum(sum), min(least), max(most), sum(count) FROM metrics
  GROUP BY job, name, second / 60;
)sql",
                                               R"sql(
CREATE TABLE host_usage (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  host TEXT not null,
  time INTEGER not null,
  processor INTEGER not null,
  memory INTEGER not null,
  disk_read INTEGER not null,
  disk_written INTEGER not null,
  net_in INTEGER not null,
  net_out INTEGER not null,
  PRIMARY KEY (job, host, time)) WITHOUT ROWID;
)sql",
                                               R"sql(
DROP INDEX jobs_created;
CREATE INDEX jobs_created ON jobs (created, number, name, arn);
CREATE INDEX tags_values ON tags (key, value);
CREATE TABLE instance_types (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  type TEXT not null,
  PRIMARY KEY (job, type)) WITHOUT ROWID;
INSERT INTO instance_types
  SELECT DISTINCT jobs.number, part.value
  FROM jobs, json_tree(jobs.request, '$.ResourceConfig') part
  WHERE json_valid(jobs.request) AND part.key = 'InstanceType' AND part.type = 'text';
)sql",
                                               R"sql(
CREATE TABLE host_gpus (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  host TEXT not null,
  time INTEGER not null,
  gpu INTEGER not null,
  percent REAL not null,
  memory INTEGER not null,
  PRIMARY KEY (job, host, time, gpu)) WITHOUT ROWID;
)sql",
                                               R"sql(
ALTER TABLE access_keys ADD COLUMN makers TEXT not null DEFAULT '';
)sql",
                                               R"sql(
CREATE INDEX jobs_modified ON jobs (modified, number);
CREATE INDEX jobs_status_created ON jobs (status, created, number);
CREATE INDEX jobs_streams_name ON jobs (name, number) WHERE streams IS NOT null;
CREATE INDEX jobs_streams_created ON jobs (created, number) WHERE streams IS NOT null;
)sql",
                                               R"sql(
ALTER TABLE jobs ADD COLUMN manifests TEXT not null DEFAULT '';
)sql",
                                               R"sql(
CREATE TABLE sessions (
  maker TEXT not null,
  id TEXT not null,
  token TEXT not null,
  name TEXT not null,
  expires INTEGER not null,
  PRIMARY KEY (maker, id)) WITHOUT ROWID;
CREATE INDEX sessions_expires ON sessions (expires);
)sql",
                                               R"sql(
ALTER TABLE stacks ADD COLUMN status TEXT not null DEFAULT 'CREATE_COMPLETE';
ALTER TABLE stacks ADD COLUMN updated INTEGER;
CREATE TABLE change_sets (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  arn TEXT not null UNIQUE,
  name TEXT not null,
  stack TEXT not null,
  created INTEGER not null,
  document TEXT not null);
CREATE INDEX change_sets_stack ON change_sets (stack, number);
)sql",
                                               R"sql(
CREATE TABLE metric_steps (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name TEXT not null,
  width INTEGER not null,
  step INTEGER not null,
  attempt INTEGER not null,
  sum REAL not null,
  least REAL not null,
  most REAL not null,
  count INTEGER not null,
  PRIMARY KEY (job, name, width, step)) WITHOUT ROWID;
ALTER TABLE metrics_read ADD COLUMN steps INTEGER not null DEFAULT 0;
)sql",
                                               R"sql(
CREATE TABLE run_names (
  id INTEGER PRIMARY KEY,
  kind INTEGER not null,
  name TEXT not null,
  jobs INTEGER not null,
  UNIQUE (kind, name));
CREATE INDEX run_names_jobs ON run_names (kind, jobs DESC, name);
CREATE TABLE run_values (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name INTEGER not null,
  value not null,
  text TEXT,
  PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE TABLE run_metrics (
  job INTEGER not null REFERENCES jobs ON DELETE CASCADE,
  name INTEGER not null,
  time INTEGER not null,
  last REAL not null,
  least REAL not null,
  most REAL not null,
  PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE INDEX jobs_arn ON jobs (arn);
CREATE INDEX jobs_times ON jobs (training_start, training_end);
CREATE TABLE runs_fill (id INTEGER PRIMARY KEY, job INTEGER not null, until INTEGER not null);
INSERT INTO runs_fill SELECT 1, 0, coalesce(max(number), 0) FROM jobs;
)sql",
                                               R"sql(
CREATE INDEX run_values_value ON run_values (name, value, job, text);
CREATE INDEX run_metrics_last ON run_metrics (name, last, job);
CREATE INDEX run_metrics_least ON run_metrics (name, least, job);
CREATE INDEX run_metrics_most ON run_metrics (name, most, job);
DROP TABLE runs_fill;
)sql"};
/// Before this step, which makes the indexes, the tables of runs are filled: rows that arrive in
/// the order of an index cost a fraction of those that arrive in any order.
constexpr std::size_t indexes_of_runs = 17;

Result<std::int64_t> version_of(Database& database) {
  Statement statement = database.statement("PRAGMA user_version");
  TRY(statement.step());
  return statement.number(0);
}

}  // namespace

Result<void> migrate(Database& database, const FillProgress& progress) {
  const std::int64_t version = TRY(version_of(database));
  if (version < 0 || version > static_cast<std::int64_t>(steps.size()))
    return fail(Errc::invalid_input,
                "store: the database has version " + std::to_string(version) +
                    ", but this version of muster supports only versions up to " +
                    std::to_string(steps.size()));
  for (std::size_t step = static_cast<std::size_t>(version); step < steps.size(); ++step) {
    if (step == indexes_of_runs) TRY(fill_runs(database, progress));
    const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(database));
    TRY(database.run(steps[step]));
    TRY(database.run("PRAGMA user_version=" + std::to_string(step + 1)));
    TRY(transaction->commit());
  }
  return {};
}

}  // namespace muster::store
