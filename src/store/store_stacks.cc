// The store's stacks.

#include <chrono>

#include "store/sqlite.h"
#include "store/store.h"

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
          ->statement("INSERT INTO stacks (name, arn, token, created, request, made, networks) "
                      "VALUES (?, ?, ?, ?, ?, ?, ?)")
          .bind(stack.name)
          .bind(stack.arn)
          .bind(stack.token)
          .bind(stack.created)
          .bind(stack.request)
          .bind(stack.made)
          .bind(stack.networks)
          .run());
  TRY(transaction->commit());
  return true;
}

Result<std::vector<StackRow>> Store::stacks() {
  Statement rows = database_->statement(
      "SELECT name, arn, token, created, deleted, request, made, networks FROM stacks "
      "ORDER BY number");
  std::vector<StackRow> stacks;
  while (TRY(rows.step()))
    stacks.push_back({rows.text(0), rows.text(1), rows.text(2), rows.time(3), rows.maybe_time(4),
                      rows.text(5), rows.text(6), rows.text(7)});
  return stacks;
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
