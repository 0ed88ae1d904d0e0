#include "server/store/store.h"

#include <array>
#include <chrono>

#include "base/text.h"
#include "server/store/run_rows.h"
#include "server/store/sqlite.h"
#include "server/store/store_schema.h"

namespace muster::store {
namespace {

/// Clients repeat a call within minutes.
constexpr std::chrono::hours invocations_kept{24};

Status status_of(const std::string& name) {
  return status_named(name).value_or(Status::failed);
}

Result<std::vector<Transition>> transitions_of(Database& database, std::int64_t job) {
  Statement rows = database.statement(
      "SELECT status, message, start, end FROM transitions WHERE job = ? ORDER BY place");
  rows.bind(job);
  std::vector<Transition> transitions;
  while (TRY(rows.step()))
    transitions.push_back({rows.text(0), rows.text(1), rows.time(2), rows.maybe_time(3)});
  if (transitions.empty()) return fail(Errc::system, "store: a job has no status");
  return transitions;
}

/// Writes what is new in `state`: transitions from number `from` on.
Result<void> put_state(Database& database, std::int64_t job, const JobState& state,
                       std::size_t from) {
  for (std::size_t place = from; place < state.transitions.size(); ++place) {
    const Transition& each = state.transitions[place];
    TRY(database
            .statement("INSERT OR REPLACE INTO transitions (job, place, status, message, start, "
                       "end) VALUES (?, ?, ?, ?, ?, ?)")
            .bind(job)
            .bind(static_cast<std::int64_t>(place))
            .bind(each.status)
            .bind(each.message)
            .bind(each.start)
            .bind(each.end)
            .run());
  }
  return database
      .statement(
          "UPDATE jobs SET status = ?, secondary = ?, training_start = ?, training_end = ?, "
          "streams = ? WHERE number = ?")
      .bind(status_name(state.status))
      .bind(state.transitions.back().status)
      .bind(state.training_start)
      .bind(state.training_end)
      .bind(state.streams)
      .bind(job)
      .run();
}

/// The types of the hosts that a request names, whether these are in groups or not.
constexpr const char* insert_instance_types =
    "INSERT INTO instance_types SELECT DISTINCT jobs.number, part.value "
    "FROM jobs, json_tree(jobs.request, '$.ResourceConfig') part WHERE jobs.number = ? "
    "AND json_valid(jobs.request) AND part.key = 'InstanceType' AND part.type = 'text'";

Result<void> insert_job(Database& database, const NewJob& job) {
  TRY(database
          .statement("INSERT INTO jobs (name, arn, status, secondary, created, modified, "
                     "access_key, request, manifests) VALUES (?, ?, '', '', ?, ?, ?, ?, ?)")
          .bind(job.name)
          .bind(job.arn)
          .bind(job.now)
          .bind(job.now)
          .bind(job.access_key)
          .bind(job.request)
          .bind(job.manifests)
          .run());
  const std::int64_t number = database.last_row();
  TRY(put_state(database, number, first_state(job.now), 0));
  TRY(database.statement(insert_instance_types).bind(number).run());
  for (const auto& [key, value] : job.tags)
    TRY(database.statement("INSERT OR REPLACE INTO tags (arn, key, value) VALUES (?, ?, ?)")
            .bind(job.arn)
            .bind(key)
            .bind(value)
            .run());
  TRY(add_run(database, number, job.request, job.tags));
  if (job.invocation.empty()) return {};
  TRY(database.statement("DELETE FROM invocations WHERE created < ?")
          .bind(job.now - invocations_kept)
          .run());
  return database
      .statement("INSERT OR REPLACE INTO invocations (id, job, created) VALUES (?, ?, ?)")
      .bind(job.invocation)
      .bind(job.name)
      .bind(job.now)
      .run();
}

/// A job's program and number of hosts, as one text. The names of code directories and archives
/// differ from job to job, so the program's name represents them.
constexpr const char* code_of_request =
    "json_extract(request, '$.AlgorithmSpecification.TrainingImage', "
    "'$.AlgorithmSpecification.AlgorithmName', '$.AlgorithmSpecification.ContainerEntrypoint', "
    "'$.HyperParameters.sagemaker_program', '$.ResourceConfig.InstanceCount', "
    "'$.ResourceConfig.InstanceGroups')";
/// Jobs among which the last run is looked for.
constexpr std::int64_t looked_at_max = 1000;

}  // namespace

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& path, const FillProgress& progress) {
  std::unique_ptr<Database> database = TRY(Database::open(path));
  const Result<void> ready = migrate(*database, progress);
  if (!ready) return ready.error().in(path);
  return Store(std::move(database));
}

std::uint64_t Store::effort() const {
  return database_->effort();
}

std::string Store::path() const {
  return database_->path();
}

Result<std::int64_t> Store::number_of(const std::string& name) {
  Statement row = database_->statement("SELECT number FROM jobs WHERE name = ?");
  const bool found = TRY(row.bind(name).step());
  return found ? row.number(0) : 0;
}

Result<Submitted> Store::submit(const NewJob& job) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  const std::int64_t present = TRY(number_of(job.name));
  if (present != 0) {
    if (job.invocation.empty()) return Submitted::taken;
    Statement row = database_->statement("SELECT 1 FROM invocations WHERE id = ? AND job = ?");
    const bool repeated = TRY(row.bind(job.invocation).bind(job.name).step());
    return repeated ? Submitted::repeated : Submitted::taken;
  }
  TRY(insert_job(*database_, job));
  TRY(transaction->commit());
  ++revision_;
  return Submitted::made;
}

Result<std::optional<Job>> Store::job(const std::string& name) {
  Statement row = database_->statement(
      "SELECT number, name, arn, status, created, modified, training_start, training_end, streams, "
      "failure_reason, model_artifacts, note, notes, access_key, request, cause, manifests "
      "FROM jobs WHERE name = ?");
  const bool found = TRY(row.bind(name).step());
  if (!found) return std::optional<Job>();
  Job job;
  job.number = row.number(0);
  job.name = row.text(1);
  job.arn = row.text(2);
  job.state.status = status_of(row.text(3));
  job.created = row.time(4);
  job.modified = row.time(5);
  job.state.training_start = row.maybe_time(6);
  job.state.training_end = row.maybe_time(7);
  job.state.streams = row.maybe_time(8);
  job.failure_reason = row.text(9);
  job.model_artifacts = row.text(10);
  job.note = row.text(11);
  job.notes = row.text(12);
  job.access_key = row.text(13);
  job.request = row.text(14);
  job.cause = row.text(15);
  job.manifests = row.text(16);
  job.state.transitions = TRY(transitions_of(*database_, job.number));
  return std::optional<Job>(std::move(job));
}

Result<std::string> Store::last_run(const std::string& name) {
  Statement own = database_->statement(std::string("SELECT number, ") + code_of_request +
                                       " FROM jobs WHERE name = ?");
  if (!TRY(own.bind(name).step())) return std::string();
  Statement rows = database_->statement(std::string("SELECT name, ") + code_of_request +
                                        " FROM jobs WHERE number < ? ORDER BY number DESC LIMIT ?");
  rows.bind(own.number(0)).bind(looked_at_max);
  while (TRY(rows.step()))
    if (rows.text(1) == own.text(1)) return rows.text(0);
  return std::string();
}

Result<std::vector<std::pair<Status, std::int64_t>>> Store::counts() {
  if (counted_at_ == revision_) return counts_;
  Statement rows = database_->statement("SELECT status, count(*) FROM jobs GROUP BY status");
  std::vector<std::pair<Status, std::int64_t>> counts;
  while (TRY(rows.step())) counts.emplace_back(status_of(rows.text(0)), rows.number(1));
  counts_ = std::move(counts);
  counted_at_ = revision_;
  return counts_;
}

Result<std::vector<UnfinishedJob>> Store::unfinished(const std::string& text) {
  Statement rows = database_->statement(
      "SELECT name, access_key FROM jobs WHERE status IN ('InProgress', 'Stopping') "
      "AND (?1 = '' OR instr(request, ?1) > 0) ORDER BY number");
  rows.bind(text);
  std::vector<UnfinishedJob> jobs;
  while (TRY(rows.step())) jobs.push_back({rows.text(0), rows.text(1)});
  return jobs;
}

Result<std::vector<EndedJob>> Store::ended_after(UnixMillis ended, std::int64_t number,
                                                 const std::string& tag, std::int64_t most) {
  Statement rows = database_->statement(
      "SELECT number, access_key, created, training_start, training_end, "
      "coalesce((SELECT value FROM tags WHERE tags.arn = jobs.arn AND key = ?), ''), request "
      "FROM jobs INDEXED BY jobs_ended "
      "WHERE training_start IS NOT NULL AND (training_end, number) > (?, ?) "
      "ORDER BY training_end, number LIMIT ?");
  rows.bind(tag).bind(ended).bind(number).bind(most);
  std::vector<EndedJob> jobs;
  while (TRY(rows.step()))
    jobs.push_back({rows.number(0), rows.text(1), rows.text(6), rows.text(5), rows.time(2),
                    rows.time(3), rows.time(4)});
  return jobs;
}

Result<bool> Store::set_status(const std::string& name, const StatusChange& change) {
  return finish(name, {.change = change});
}

Result<bool> Store::finish(const std::string& name, const JobFinish& finish) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  const std::optional<Job> job = TRY(this->job(name));
  if (!job) return false;
  const std::optional<JobState> state = changed(job->state, finish.change);
  if (!state) return false;
  const std::size_t known = job->state.transitions.size();
  TRY(put_state(*database_, job->number, *state, known - std::min<std::size_t>(known, 2)));
  TRY(database_
          ->statement("UPDATE jobs SET modified = max(modified, ?), failure_reason = ?, "
                      "cause = ?, model_artifacts = ? WHERE number = ?")
          .bind(finish.change.time)
          .bind(finish.failure_reason)
          .bind(finish.cause)
          .bind(finish.model_artifacts)
          .bind(job->number)
          .run());
  if (is_terminal(state->status))
    TRY(database_->statement("DELETE FROM access_keys WHERE job = ?").bind(name).run());
  TRY(transaction->commit());
  ++revision_;
  return true;
}

Result<bool> Store::set_request(const std::string& name, const std::string& request,
                                UnixMillis now) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_
          ->statement("UPDATE jobs SET request = ?, modified = max(modified, ?) WHERE name = ?")
          .bind(request)
          .bind(now)
          .bind(name)
          .run());
  const bool found = database_->changes() > 0;
  TRY(transaction->commit());
  ++revision_;
  return found;
}

Result<void> Store::try_write(UnixMillis now) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_->statement("INSERT OR REPLACE INTO tries VALUES (1, ?)").bind(now).run());
  return transaction->commit();
}

Result<void> Store::put_note(const std::string& name, const std::string& note) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  TRY(database_->statement("UPDATE jobs SET note = ? WHERE name = ?").bind(note).bind(name).run());
  return transaction->commit();
}

Result<void> Store::put_notes(const std::string& name, const std::string& notes) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  TRY(database_->statement("UPDATE jobs SET notes = ? WHERE name = ?")
          .bind(notes)
          .bind(name)
          .run());
  return transaction->commit();
}

Result<bool> Store::remove_rows(const std::string& name, std::int64_t most) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  for (const char* text :
       {"DELETE FROM metrics WHERE (job, name, second) IN (SELECT job, name, second FROM metrics "
        "WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)",
        "DELETE FROM metric_minutes WHERE (job, name, second) IN (SELECT job, name, second FROM "
        "metric_minutes WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)",
        "DELETE FROM metric_steps WHERE (job, name, width, step) IN (SELECT job, name, width, step "
        "FROM metric_steps WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)",
        "DELETE FROM final_metrics WHERE (job, name) IN (SELECT job, name FROM final_metrics "
        "WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)",
        "DELETE FROM host_usage WHERE (job, host, time) IN (SELECT job, host, time FROM "
        "host_usage WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)",
        "DELETE FROM host_gpus WHERE (job, host, time, gpu) IN (SELECT job, host, time, gpu FROM "
        "host_gpus WHERE job = (SELECT number FROM jobs WHERE name = ?) LIMIT ?)"}) {
    TRY(database_->statement(text).bind(name).bind(most).run());
    most -= database_->changes();
    if (most <= 0) break;
  }
  TRY(transaction->commit());
  return most <= 0;
}

Result<bool> Store::remove(const std::string& name) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  const std::int64_t number = TRY(number_of(name));
  TRY(remove_run(*database_, number));
  for (const char* text :
       {"DELETE FROM tags WHERE arn = (SELECT arn FROM jobs WHERE name = ?)",
        "DELETE FROM access_keys WHERE job = ?", "DELETE FROM invocations WHERE job = ?",
        "DELETE FROM jobs WHERE name = ?"})
    TRY(database_->statement(text).bind(name).run());
  const bool found = database_->changes() > 0;
  TRY(transaction->commit());
  ++revision_;
  return found;
}

}  // namespace muster::store
