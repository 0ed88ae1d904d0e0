#include "server/store/metric_reader.h"

#include <algorithm>

#include "server/store/sqlite.h"

namespace muster::store {

MetricReader::MetricReader(std::unique_ptr<Database> database) : database_(std::move(database)) {}
MetricReader::MetricReader(MetricReader&&) noexcept = default;
MetricReader& MetricReader::operator=(MetricReader&&) noexcept = default;
MetricReader::~MetricReader() = default;

Result<MetricReader> MetricReader::open(const std::string& path, std::function<bool()> gone) {
  MetricReader reader(TRY(Database::open_to_read(path)));
  reader.database_->stop_when(std::move(gone));
  return reader;
}

namespace {

Result<std::int64_t> number_of(Database& database, const std::string& job) {
  Statement known = database.statement("SELECT number FROM jobs WHERE name = ?");
  const bool is_known = TRY(known.bind(job).step());
  if (!is_known) return fail(Errc::not_found, job + ": Requested resource not found.");
  return known.number(0);
}

/// Passes rows of (place, sum, least, most, count) on until `take` returns false.
Result<void> pass_on(Statement& rows, const std::function<bool(const MetricSecond&)>& take) {
  while (TRY(rows.step()))
    if (!take({rows.number(0), rows.real(1), rows.real(2), rows.real(3), rows.number(4)})) break;
  return {};
}

}  // namespace

Result<std::vector<MetricSpan>> MetricReader::spans(const std::string& job) {
  const std::int64_t number = TRY(number_of(*database_, job));
  // Each of the four is one step down a table's tree.
  Statement rows = database_->statement(
      "SELECT f.name, (SELECT min(second) FROM metrics AS m WHERE m.job = f.job AND m.name = "
      "f.name), (SELECT max(second) FROM metrics AS m WHERE m.job = f.job AND m.name = f.name), "
      "coalesce((SELECT min(step) FROM metric_steps AS m WHERE m.job = f.job AND m.name = f.name "
      "AND m.width = 1), -1), coalesce((SELECT max(step) FROM metric_steps AS m WHERE m.job = "
      "f.job "
      "AND m.name = f.name AND m.width = 1), -1) "
      "FROM final_metrics AS f WHERE f.job = ? ORDER BY f.name LIMIT ?");
  rows.bind(number).bind(metrics_at_a_time);
  std::vector<MetricSpan> spans;
  while (TRY(rows.step()))
    spans.push_back({rows.text(0), rows.number(1), rows.number(2), rows.number(3), rows.number(4)});
  return spans;
}

Result<void> MetricReader::read_from(const char* statement, const std::string& job,
                                     const std::string& name, std::int64_t from, std::int64_t to,
                                     const std::function<bool(const MetricSecond&)>& take) {
  Statement rows = database_->statement(statement);
  rows.bind(job).bind(name).bind(from).bind(to);
  return pass_on(rows, take);
}

Result<void> MetricReader::read(const std::string& job, const std::string& name, std::int64_t from,
                                std::int64_t to,
                                const std::function<bool(const MetricSecond&)>& take) {
  return read_from(
      "SELECT second, sum, least, most, count FROM metrics "
      "WHERE job = (SELECT number FROM jobs WHERE name = ?) AND name = ? AND second >= ? "
      "AND second < ? ORDER BY second",
      job, name, from, to, take);
}

Result<void> MetricReader::read_minutes(const std::string& job, const std::string& name,
                                        std::int64_t from, std::int64_t to,
                                        const std::function<bool(const MetricSecond&)>& take) {
  return read_from(
      "SELECT second, sum, least, most, count FROM metric_minutes "
      "WHERE job = (SELECT number FROM jobs WHERE name = ?) AND name = ? AND second >= ? "
      "AND second < ? ORDER BY second",
      job, name, from, to, take);
}

Result<void> MetricReader::read_steps(const std::string& job, const std::string& name,
                                      std::int64_t width, std::int64_t from, std::int64_t to,
                                      const std::function<bool(const MetricSecond&)>& take) {
  Statement rows = database_->statement(
      "SELECT step, sum, least, most, count FROM metric_steps "
      "WHERE job = (SELECT number FROM jobs WHERE name = ?) AND name = ? AND width = ? "
      "AND step >= ? AND step < ? ORDER BY step");
  rows.bind(job).bind(name).bind(width).bind(from).bind(to);
  return pass_on(rows, take);
}

Result<std::vector<HostSpan>> MetricReader::hosts(const std::string& job) {
  const std::int64_t number = TRY(number_of(*database_, job));
  Statement rows = database_->statement(
      "SELECT host, min(time), max(time), EXISTS (SELECT 1 FROM host_gpus AS g "
      "WHERE g.job = u.job AND g.host = u.host) FROM host_usage AS u WHERE job = ? GROUP BY host");
  rows.bind(number);
  std::vector<HostSpan> hosts;
  while (TRY(rows.step()))
    hosts.push_back({rows.text(0), rows.time(1), rows.time(2), rows.number(3) != 0});
  // algo-2 comes before algo-10.
  std::sort(hosts.begin(), hosts.end(), [](const HostSpan& a, const HostSpan& b) {
    return a.host.size() != b.host.size() ? a.host.size() < b.host.size() : a.host < b.host;
  });
  return hosts;
}

Result<void> MetricReader::usage(const std::string& job, const std::string& host, UnixMillis from,
                                 UnixMillis to,
                                 const std::function<void(const HostSample&)>& take) {
  Statement rows = database_->statement(
      "WITH own AS (SELECT number FROM jobs WHERE name = ?1) "
      "SELECT time, processor, memory, disk_read, disk_written, net_in, net_out FROM host_usage "
      "WHERE job = (SELECT number FROM own) AND host = ?2 AND time < ?4 AND time >= coalesce("
      "(SELECT max(time) FROM host_usage WHERE job = (SELECT number FROM own) AND host = ?2 "
      "AND time < ?3), ?3) ORDER BY time");
  rows.bind(job).bind(host).bind(from).bind(to);
  while (TRY(rows.step()))
    take({rows.time(0), rows.number(1), rows.number(2), rows.number(3), rows.number(4),
          rows.number(5), rows.number(6)});
  return {};
}

Result<void> MetricReader::gpus(const std::string& job, const std::string& host, UnixMillis from,
                                UnixMillis to, const std::function<void(const GpuSample&)>& take) {
  Statement rows = database_->statement(
      "SELECT time, gpu, percent, memory FROM host_gpus WHERE job = (SELECT number FROM jobs "
      "WHERE name = ?1) AND host = ?2 AND time >= ?3 AND time < ?4 ORDER BY time, gpu");
  rows.bind(job).bind(host).bind(from).bind(to);
  while (TRY(rows.step())) take({rows.time(0), rows.number(1), rows.real(2), rows.number(3)});
  return {};
}

}  // namespace muster::store
