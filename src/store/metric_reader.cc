#include "store/metric_reader.h"

#include "store/sqlite.h"

namespace muster::store {

MetricReader::MetricReader(std::unique_ptr<Database> database) : database_(std::move(database)) {}
MetricReader::MetricReader(MetricReader&&) noexcept = default;
MetricReader& MetricReader::operator=(MetricReader&&) noexcept = default;
MetricReader::~MetricReader() = default;

Result<MetricReader> MetricReader::open(const std::string& path) {
  return MetricReader(TRY(Database::open_to_read(path)));
}

Result<std::vector<MetricSpan>> MetricReader::spans(const std::string& job) {
  Statement known = database_->statement("SELECT number FROM jobs WHERE name = ?");
  const bool is_known = TRY(known.bind(job).step());
  if (!is_known) return fail(Errc::not_found, job + ": Requested resource not found.");
  // Each of the two is one step down the table's tree.
  Statement rows = database_->statement(
      "SELECT f.name, (SELECT min(second) FROM metrics AS m WHERE m.job = f.job AND m.name = "
      "f.name), (SELECT max(second) FROM metrics AS m WHERE m.job = f.job AND m.name = f.name) "
      "FROM final_metrics AS f WHERE f.job = ? ORDER BY f.name");
  rows.bind(known.number(0));
  std::vector<MetricSpan> spans;
  while (TRY(rows.step())) spans.push_back({rows.text(0), rows.number(1), rows.number(2)});
  return spans;
}

Result<void> MetricReader::read_from(const char* statement, const std::string& job,
                                     const std::string& name, std::int64_t from, std::int64_t to,
                                     const std::function<bool(const MetricSecond&)>& take) {
  Statement rows = database_->statement(statement);
  rows.bind(job).bind(name).bind(from).bind(to);
  while (TRY(rows.step()))
    if (!take({rows.number(0), rows.real(1), rows.real(2), rows.real(3), rows.number(4)})) break;
  return {};
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

}  // namespace muster::store
