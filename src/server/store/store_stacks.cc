// The store's stacks.

#include <chrono>

#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace muster::store {
namespace {

/// As long as CloudFormation lists what was deleted.
constexpr std::chrono::days deleted_kept{90};
constexpr std::int64_t deleted_kept_max = 100;

}  // namespace

Result<bool> Store::add_stack(const StackRow& stack) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  {
    Statement row = database_->statement("SELECT 1 FROM stacks WHERE name = ? AND deleted IS NULL");
    const bool taken = TRY(row.bind(stack.name).step());
    if (taken) return false;
  }
  TRY(database_
          ->statement("INSERT INTO stacks (name, arn, token, created, request, made, networks, "
                      "status) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
          .bind(stack.name)
          .bind(stack.arn)
          .bind(stack.token)
          .bind(stack.created)
          .bind(stack.request)
          .bind(stack.made)
          .bind(stack.networks)
          .bind(stack.status)
          .run());
  TRY(transaction->commit());
  return true;
}

Result<std::vector<StackRow>> Store::stacks() {
  Statement rows = database_->statement(
      "SELECT name, arn, token, created, deleted, request, made, networks, status, updated "
      "FROM stacks ORDER BY number");
  std::vector<StackRow> stacks;
  while (TRY(rows.step()))
    stacks.push_back({rows.text(0), rows.text(1), rows.text(2), rows.time(3), rows.maybe_time(4),
                      rows.text(5), rows.text(6), rows.text(7), rows.text(8), rows.maybe_time(9)});
  return stacks;
}

Result<bool> Store::update_stack(const StackRow& stack) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_
          ->statement("UPDATE stacks SET token = ?, request = ?, made = ?, networks = ?, status = "
                      "?, updated = ? WHERE arn = ? AND deleted IS NULL")
          .bind(stack.token)
          .bind(stack.request)
          .bind(stack.made)
          .bind(stack.networks)
          .bind(stack.status)
          .bind(stack.updated)
          .bind(stack.arn)
          .run());
  const bool found = database_->changes() > 0;
  TRY(database_->statement("DELETE FROM change_sets WHERE stack = ?").bind(stack.arn).run());
  TRY(transaction->commit());
  return found;
}

Result<void> Store::put_change_set(const ChangeSetRow& row, std::int64_t most) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_
          ->statement("INSERT INTO change_sets (arn, name, stack, created, document) VALUES (?, ?, "
                      "?, ?, ?) ON CONFLICT (arn) DO UPDATE SET document = excluded.document")
          .bind(row.arn)
          .bind(row.name)
          .bind(row.stack)
          .bind(row.created)
          .bind(row.document)
          .run());
  TRY(database_
          ->statement("DELETE FROM change_sets WHERE stack = ?1 AND number NOT IN (SELECT number "
                      "FROM change_sets WHERE stack = ?1 ORDER BY number DESC LIMIT ?2)")
          .bind(row.stack)
          .bind(most)
          .run());
  return transaction->commit();
}

Result<std::optional<ChangeSetRow>> Store::change_set(const std::string& stack,
                                                      const std::string& name) {
  Statement row = database_->statement(
      "SELECT arn, name, stack, created, document FROM change_sets WHERE arn = ?2 OR (stack = ?1 "
      "AND name = ?2)");
  row.bind(stack).bind(name);
  const bool found = TRY(row.step());
  if (!found) return std::optional<ChangeSetRow>();
  return std::optional<ChangeSetRow>(
      {row.text(0), row.text(1), row.text(2), row.time(3), row.text(4)});
}

Result<void> Store::remove_change_set(const std::string& arn) {
  return database_->statement("DELETE FROM change_sets WHERE arn = ?").bind(arn).run();
}

Result<bool> Store::delete_stack(const std::string& arn, UnixMillis now) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_));
  TRY(database_
          ->statement("UPDATE stacks SET deleted = ?, networks = '' WHERE arn = ? AND deleted IS "
                      "NULL")
          .bind(now)
          .bind(arn)
          .run());
  const bool found = database_->changes() > 0;
  TRY(database_->statement("DELETE FROM change_sets WHERE stack = ?").bind(arn).run());
  TRY(database_
          ->statement("DELETE FROM stacks WHERE deleted < ? OR (deleted IS NOT NULL AND number NOT "
                      "IN (SELECT number FROM stacks WHERE deleted IS NOT NULL ORDER BY deleted "
                      "DESC LIMIT ?))")
          .bind(now - deleted_kept)
          .bind(deleted_kept_max)
          .run());
  TRY(transaction->commit());
  return found;
}

}  // namespace muster::store
