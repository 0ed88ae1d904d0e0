// What the store knows of the use that hosts make of their machine.

#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace muster::store {

Result<void> Store::put_usage(const std::string& job,
                              const std::vector<std::pair<std::string, HostSample>>& samples) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  const std::int64_t number = TRY(number_of(job));
  if (number == 0) return {};
  for (const auto& [host, sample] : samples)
    TRY(database_
            ->statement("INSERT OR IGNORE INTO host_usage (job, host, time, processor, memory, "
                        "disk_read, disk_written, net_in, net_out) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(number)
            .bind(host)
            .bind(sample.time)
            .bind(sample.processor)
            .bind(sample.memory)
            .bind(sample.disk_read)
            .bind(sample.disk_written)
            .bind(sample.net_in)
            .bind(sample.net_out)
            .run());
  return transaction->commit();
}

Result<void> Store::put_gpus(const std::string& job,
                             const std::vector<std::pair<std::string, GpuSample>>& samples) {
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  const std::int64_t number = TRY(number_of(job));
  if (number == 0) return {};
  for (const auto& [host, sample] : samples)
    TRY(database_
            ->statement("INSERT OR IGNORE INTO host_gpus (job, host, time, gpu, percent, memory) "
                        "VALUES (?, ?, ?, ?, ?, ?)")
            .bind(number)
            .bind(host)
            .bind(sample.time)
            .bind(sample.gpu)
            .bind(sample.percent)
            .bind(sample.memory)
            .run());
  return transaction->commit();
}

Result<void> Store::thin_usage(const std::string& job, const std::string& host,
                               std::chrono::milliseconds cell) {
  CHECK_THAT(cell.count() > 0, "samples in cells of no time");
  const std::unique_ptr<Transaction> transaction = TRY(Transaction::begin(*database_, false));
  const std::int64_t number = TRY(number_of(job));
  TRY(database_
          ->statement("UPDATE host_usage AS u SET memory = (SELECT max(o.memory) FROM host_usage "
                      "AS o WHERE o.job = u.job AND o.host = u.host AND o.time <= u.time "
                      "AND o.time >= u.time / ?1 * ?1) WHERE u.job = ?2 AND u.host = ?3")
          .bind(std::int64_t{cell.count()})
          .bind(number)
          .bind(host)
          .run());
  TRY(database_
          ->statement("DELETE FROM host_usage AS u WHERE u.job = ?2 AND u.host = ?3 AND EXISTS "
                      "(SELECT 1 FROM host_usage AS o WHERE o.job = u.job AND o.host = u.host "
                      "AND o.time > u.time AND o.time < (u.time / ?1 + 1) * ?1)")
          .bind(std::int64_t{cell.count()})
          .bind(number)
          .bind(host)
          .run());
  TRY(thin_gpus(number, host, cell));
  return transaction->commit();
}

/// The last of each cell takes what the others tell: only it is written, and only they are read.
Result<void> Store::thin_gpus(std::int64_t job, const std::string& host,
                              std::chrono::milliseconds cell) {
  constexpr const char* later =
      "EXISTS (SELECT 1 FROM host_gpus AS o WHERE o.job = g.job AND o.host = g.host AND "
      "o.gpu = g.gpu AND o.time > g.time AND o.time < (g.time / ?1 + 1) * ?1)";
  constexpr const char* told =
      "(SELECT avg(o.percent), max(o.memory) FROM host_gpus AS o WHERE o.job = g.job AND "
      "o.host = g.host AND o.gpu = g.gpu AND o.time <= g.time AND o.time >= g.time / ?1 * ?1)";
  const std::string where = " WHERE g.job = ?2 AND g.host = ?3 AND ";
  TRY(database_
          ->statement(std::string("UPDATE host_gpus AS g SET (percent, memory) = ") + told + where +
                      "NOT " + later)
          .bind(std::int64_t{cell.count()})
          .bind(job)
          .bind(host)
          .run());
  return database_->statement("DELETE FROM host_gpus AS g" + where + later)
      .bind(std::int64_t{cell.count()})
      .bind(job)
      .bind(host)
      .run();
}

Result<std::optional<UnixMillis>> Store::usage_began(const std::string& job) {
  Statement row = database_->statement(
      "SELECT min(u.time) FROM host_usage AS u JOIN jobs AS j ON j.number = u.job "
      "WHERE j.name = ?");
  const bool found = TRY(row.bind(job).step());
  return found ? row.maybe_time(0) : std::nullopt;
}

}  // namespace muster::store
