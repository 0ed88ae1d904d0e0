#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::store {

/// A prepared statement, lent by its Database and reset when it leaves scope. Binding counts from
/// 1 on, columns from 0 on, in the order of the calls. A failed call makes the next step() fail.
class Statement {
 public:
  /// `effort`: the sum to which the statement's steps are added.
  Statement(sqlite3* database, sqlite3_stmt* statement, std::uint64_t& effort)
      : database_(database), statement_(statement), effort_(effort) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& bind(std::string_view text);  ///< Copied.
  Statement& bind(std::int64_t number);
  Statement& bind(double number);
  Statement& bind(UnixMillis time) { return bind(std::int64_t{time.count()}); }
  Statement& bind(std::optional<UnixMillis> time);
  Statement& bind_null();

  /// True if it is at a row. Error: `system`.
  Result<bool> step();
  /// For statements without result rows.
  Result<void> run();

  enum class Kind { null, integer, real, text };
  Kind kind(int column) const;
  std::string text(int column) const;
  std::int64_t number(int column) const;
  double real(int column) const;
  UnixMillis time(int column) const { return UnixMillis(number(column)); }
  std::optional<UnixMillis> maybe_time(int column) const;

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_;
  std::uint64_t& effort_;
  int bound_ = 0;
  int trouble_ = 0;
};

/// A SQLite file, for one thread. Keeps its statements prepared.
class Database {
 public:
  /// Opens or creates it, 0600, in WAL mode, with every commit synced. Error: `system`.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  /// Opens a file read-only that is open elsewhere. Error: `system`.
  static Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Several statements without values. Error: `system`.
  Result<void> run(const std::string& statements);
  /// `text` must be a literal, because the prepared statement is kept. Only one use at a time.
  Statement statement(const std::string& text);
  /// Statements fail once `gone`, which is called now and then while they run, returns true.
  void stop_when(std::function<bool()> gone);
  /// Steps of SQLite's virtual machine so far: grows with the number of rows that statements touch,
  /// independent of the machine's speed.
  std::uint64_t effort() const { return effort_; }
  /// The absolute path of the file.
  std::string path() const;
  /// The number of rows that the last statement changed.
  std::int64_t changes() const;
  /// The id of the last row that was inserted.
  std::int64_t last_row() const;

 private:
  explicit Database(sqlite3* database) : database_(database) {}
  sqlite3* database_;
  std::uint64_t effort_ = 0;
  std::function<bool()> gone_;
  std::map<std::string, sqlite3_stmt*> prepared_;
};

/// Rolls back all changes since its start, unless it was committed.
class Transaction {
 public:
  /// `durable`: commit() waits for the disk; otherwise only a crash of the machine can lose the
  /// changes.
  static Result<std::unique_ptr<Transaction>> begin(Database& database, bool durable = true);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace muster::store
