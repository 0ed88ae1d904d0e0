#pragma once

#include <cstdint>
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
  /// `effort`: where the steps that the statement took are added up.
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

  /// True if it is at a row. Error: `system`.
  Result<bool> step();
  /// For what gives no rows.
  Result<void> run();

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
  /// Opens or makes it, 0600, in WAL mode, every commit on the disk. Error: `system`.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  /// One that is open elsewhere, without a way to change it. Error: `system`.
  static Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Several statements without values. Error: `system`.
  Result<void> run(const std::string& statements);
  /// `text` must be a literal of the program's: it is kept prepared. One use of it at a time.
  Statement statement(const std::string& text);
  /// Steps of SQLite's virtual machine so far: grows with the rows that statements touch, found or
  /// not, whatever the machine's speed.
  std::uint64_t effort() const { return effort_; }
  /// The absolute path of the file.
  std::string path() const;
  /// How many rows the last statement changed.
  std::int64_t changes() const;
  /// The id of the last row that was inserted.
  std::int64_t last_row() const;

 private:
  explicit Database(sqlite3* database) : database_(database) {}
  sqlite3* database_;
  std::uint64_t effort_ = 0;
  std::map<std::string, sqlite3_stmt*> prepared_;
};

/// Takes back what was done since its beginning, unless it was committed.
class Transaction {
 public:
  /// `durable`: commit() waits for the disk; else only a crash of the machine can lose it.
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
