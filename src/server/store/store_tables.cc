// The store's smaller tables: tags, metrics, access keys.

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace muster::store {

Result<Tags> Store::tags(const std::string& arn) {
  Statement rows = database_->statement("SELECT key, value FROM tags WHERE arn = ? ORDER BY key");
  rows.bind(arn);
  Tags tags;
  while (TRY(rows.step())) tags.emplace_back(rows.text(0), rows.text(1));
  return tags;
}

Result<bool> Store::add_tags(const std::string& arn, const Tags& tags, std::size_t most) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  for (const auto& [key, value] : tags)
    TRY(database_->statement("INSERT OR REPLACE INTO tags (arn, key, value) VALUES (?, ?, ?)")
            .bind(arn)
            .bind(key)
            .bind(value)
            .run());
  const Tags all = TRY(this->tags(arn));
  if (all.size() > most) return false;
  TRY(transaction->commit());
  return true;
}

Result<void> Store::remove_tags(const std::string& arn, const std::vector<std::string>& keys) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  for (const std::string& key : keys)
    TRY(database_->statement("DELETE FROM tags WHERE arn = ? AND key = ?")
            .bind(arn)
            .bind(key)
            .run());
  return transaction->commit();
}

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

Result<void> put_final(Database& database, std::int64_t job, const MetricSample& sample) {
  return database
      .statement(
          "INSERT INTO final_metrics (job, name, time, value) VALUES (?, ?, ?, ?) "
          "ON CONFLICT DO UPDATE SET time = excluded.time, value = excluded.value "
          "WHERE excluded.time >= time")
      .bind(job)
      .bind(sample.name)
      .bind(sample.time)
      .bind(sample.value)
      .run();
}

}  // namespace

Result<void> Store::put_metrics(const std::string& job, const std::string& host,
                                const std::vector<MetricSample>& samples, std::uint64_t read_to) {
  std::map<std::pair<std::string, std::int64_t>, MetricSecond> by_second, by_minute;
  std::map<std::string, MetricSample> last;
  for (const MetricSample& each : samples) {
    const std::int64_t second = std::chrono::floor<std::chrono::seconds>(each.time).count();
    MetricSecond& bucket = by_second[{each.name, second}];
    bucket.second = second;
    bucket.add(each.value);
    const std::int64_t minute = second - second % metric_minute;
    MetricSecond& wide = by_minute[{each.name, minute}];
    wide.second = minute;
    wide.add(each.value);
    MetricSample& latest = last[each.name];
    if (each.time >= latest.time) latest = each;
  }
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  const std::int64_t number = TRY(number_of(job));
  if (number == 0) return {};
  for (const auto& [key, second] : by_second)
    TRY(add_metric(*database_, add_to_seconds, number, key.first, second));
  for (const auto& [key, minute] : by_minute)
    TRY(add_metric(*database_, add_to_minutes, number, key.first, minute));
  for (const auto& [name, sample] : last) TRY(put_final(*database_, number, sample));
  TRY(database_
          ->statement("INSERT OR REPLACE INTO metrics_read (job, host, events) VALUES (?, ?, ?)")
          .bind(number)
          .bind(host)
          .bind(static_cast<std::int64_t>(read_to))
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

Result<void> Store::add_key(const AccessKey& key) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_
          ->statement("INSERT INTO access_keys (id, secret, token, job, policy, created, comment, "
                      "makers) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
          .bind(key.id)
          .bind(key.secret)
          .bind(key.token)
          .bind(key.job)
          .bind(key.policy)
          .bind(key.created)
          .bind(key.comment)
          .bind(join(key.makers, " "))
          .run());
  return transaction->commit();
}

namespace {
AccessKey key_of(const Statement& row) {
  return {row.text(0), row.text(1), row.text(2), row.text(3),
          row.text(4), row.time(5), row.text(6), split_words(row.text(7))};
}
}  // namespace

Result<std::optional<AccessKey>> Store::key(const std::string& id) {
  Statement row = database_->statement(
      "SELECT id, secret, token, job, policy, created, comment, makers FROM access_keys "
      "WHERE id = ?");
  const bool found = TRY(row.bind(id).step());
  return found ? std::optional<AccessKey>(key_of(row)) : std::nullopt;
}

Result<std::vector<AccessKey>> Store::keys() {
  Statement rows = database_->statement(
      "SELECT id, secret, token, job, policy, created, comment, makers FROM access_keys "
      "WHERE job = '' ORDER BY created, id");
  std::vector<AccessKey> keys;
  while (TRY(rows.step())) keys.push_back(key_of(rows));
  return keys;
}

Result<bool> Store::add_session(const Session& session, UnixMillis now, std::int64_t most,
                                std::vector<std::string>& expired) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  {
    Statement rows = database_->statement("DELETE FROM sessions WHERE expires <= ? RETURNING id");
    rows.bind(now);
    while (TRY(rows.step())) expired.push_back(rows.text(0));
  }
  std::int64_t alive = 0;
  {
    Statement row = database_->statement("SELECT count(*) FROM sessions WHERE maker = ?");
    TRY(row.bind(session.maker).step());
    alive = row.number(0);
  }
  if (alive < most)
    TRY(database_
            ->statement("INSERT INTO sessions (maker, id, token, name, expires) "
                        "VALUES (?, ?, ?, ?, ?)")
            .bind(session.maker)
            .bind(session.id)
            .bind(session.token)
            .bind(session.name)
            .bind(session.expires)
            .run());
  TRY(transaction->commit());
  return alive < most;
}

Result<std::vector<Session>> Store::sessions() {
  Statement rows =
      database_->statement("SELECT id, token, maker, name, expires FROM sessions ORDER BY id");
  std::vector<Session> sessions;
  while (TRY(rows.step()))
    sessions.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.time(4)});
  return sessions;
}

Result<KeyRemoval> Store::remove_key(const std::string& id, bool even_last) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  const std::vector<AccessKey> keys = TRY(this->keys());
  const bool known =
      std::any_of(keys.begin(), keys.end(), [&](const AccessKey& key) { return key.id == id; });
  if (!known) return KeyRemoval::unknown;
  if (keys.size() == 1 && !even_last) return KeyRemoval::last;
  TRY(database_->statement("DELETE FROM access_keys WHERE id = ?").bind(id).run());
  TRY(database_->statement("DELETE FROM sessions WHERE maker = ?").bind(id).run());
  TRY(transaction->commit());
  return KeyRemoval::removed;
}

}  // namespace muster::store
