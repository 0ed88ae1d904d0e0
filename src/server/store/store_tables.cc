// The store's smaller tables: tags, access keys.

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "server/store/run_rows.h"
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
  TRY(retag_run(*database_, arn));
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
  TRY(retag_run(*database_, arn));
  return transaction->commit();
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
