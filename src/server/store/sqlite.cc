#include "server/store/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "base/fd.h"

namespace muster::store {
namespace {

/// Steps of SQLite's virtual machine between two questions: about a millisecond.
constexpr int steps_unasked = 50'000;

Error fail_sqlite(sqlite3* database) {
  return fail(Errc::system, std::string("store: ") + sqlite3_errmsg(database));
}

}  // namespace

Statement::~Statement() {
  if (statement_ == nullptr) return;
  constexpr int set_back = 1;
  const int steps = sqlite3_stmt_status(statement_, SQLITE_STMTSTATUS_VM_STEP, set_back);
  effort_ += static_cast<std::uint64_t>(steps);
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::string_view text) {
  // An empty view may have no address, which SQLite takes for NULL.
  const char* bytes = text.empty() ? "" : text.data();
  const int code =
      sqlite3_bind_text64(statement_, ++bound_, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) trouble_ = code;
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  const int code = sqlite3_bind_int64(statement_, ++bound_, number);
  if (code != SQLITE_OK) trouble_ = code;
  return *this;
}

Statement& Statement::bind(double number) {
  const int code = sqlite3_bind_double(statement_, ++bound_, number);
  if (code != SQLITE_OK) trouble_ = code;
  return *this;
}

Statement& Statement::bind(std::optional<UnixMillis> time) {
  return time ? bind(*time) : bind_null();
}

Statement& Statement::bind_null() {
  const int code = sqlite3_bind_null(statement_, ++bound_);
  if (code != SQLITE_OK) trouble_ = code;
  return *this;
}

Result<bool> Statement::step() {
  if (statement_ == nullptr) return fail_sqlite(database_);
  if (trouble_ != SQLITE_OK)
    return fail(Errc::system, std::string("store: ") + sqlite3_errstr(trouble_));
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail_sqlite(database_);
}

Result<void> Statement::run() {
  TRY(step());
  return {};
}

Statement::Kind Statement::kind(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Kind::integer;
    case SQLITE_FLOAT:
      return Kind::real;
    case SQLITE_NULL:
      return Kind::null;
    default:
      return Kind::text;
  }
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::optional<UnixMillis> Statement::maybe_time(int column) const {
  if (kind(column) == Kind::null) return std::nullopt;
  return time(column);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  {
    // SQLite gives its other two files the mode of this one.
    const Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return fail_errno("cannot create " + path);
  }
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return fail_sqlite(handle).in(path);
  sqlite3_extended_result_codes(handle, 1);
  // A backup or a person's sqlite3 may hold it for a moment.
  sqlite3_busy_timeout(handle, 5000);
  const Result<void> set = database->run(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
      "PRAGMA cache_size=-8000; PRAGMA journal_size_limit=16777216; PRAGMA trusted_schema=OFF;");
  if (!set) return set.error().in(path);
  return database;
}

Result<std::unique_ptr<Database>> Database::open_to_read(const std::string& path) {
  // By SQLite alone: a descriptor of ours, closed, would take the process's locks along.
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return fail_sqlite(handle).in(path);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 5000);
  const Result<void> set = database->run("PRAGMA trusted_schema=OFF;");
  if (!set) return set.error().in(path);
  return database;
}

Database::~Database() {
  for (const auto& [text, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

Result<void> Database::run(const std::string& statements) {
  if (sqlite3_exec(database_, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return fail_sqlite(database_);
  return {};
}

void Database::stop_when(std::function<bool()> gone) {
  gone_ = std::move(gone);
  int (*const ask)(void*) = [](void* own) {
    return (*static_cast<std::function<bool()>*>(own))() ? 1 : 0;
  };
  sqlite3_progress_handler(database_, steps_unasked, gone_ ? ask : nullptr, &gone_);
}

Statement Database::statement(const std::string& text) {
  sqlite3_stmt*& prepared = prepared_[text];
  if (prepared == nullptr)
    sqlite3_prepare_v3(database_, text.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  return Statement(database_, prepared, effort_);
}

std::string Database::path() const {
  return sqlite3_db_filename(database_, "main");
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(database_);
}

std::int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(database_);
}

Result<std::unique_ptr<Transaction>> Transaction::begin(Database& database, bool durable) {
  TRY(database.run(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  TRY(database.run("BEGIN IMMEDIATE"));
  return std::unique_ptr<Transaction>(new Transaction(database));
}

Transaction::~Transaction() {
  if (open_) static_cast<void>(database_.run("ROLLBACK"));
}

Result<void> Transaction::commit() {
  // A COMMIT that fails (a full disk) leaves the transaction open: the destructor ends it.
  TRY(database_.run("COMMIT"));
  open_ = false;
  return {};
}

}  // namespace muster::store
