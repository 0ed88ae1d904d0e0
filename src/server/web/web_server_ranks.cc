// The web page's view of a metric by rank and time. The store keeps metrics without ranks, so each
// call reads the values from a part of the log.

#include <algorithm>

#include "aws/api/inputs.h"
#include "aws/api/job_request.h"
#include "net/loop/worker.h"
#include "server/cloudwatch/metric_scraper.h"
#include "server/cloudwatch/rank_series.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;

/// Longer lines are not searched for metrics.
constexpr std::size_t line_bytes = 64u << 10;
constexpr std::size_t lines_at_once = 1000;
// The limits of one call; the page repeats it.
constexpr std::size_t bytes_max = 16u << 20;
constexpr std::uint64_t work_max = cloudwatch::MetricAllowance::a_second;

/// The job's definition of one metric.
Result<job::MetricDefinitions, aws::Refusal> definition_of(const Json& description,
                                                           const std::string& name) {
  const Json algorithm = description.value("AlgorithmSpecification", Json::object());
  for (const Json& each : algorithm.value("MetricDefinitions", Json::array()))
    if (api::text_of(each, "Name") == name) {
      Result<job::MetricDefinitions> made =
          job::MetricDefinitions::from({{name, api::text_of(each, "Regex")}});
      if (!made) return api::invalid(made.error().text);
      return *std::move(made);
    }
  return api::invalid("the job has no metric with this name");
}

Json rows_of(const cloudwatch::RankCells& cells) {
  Json rows = Json::array();
  for (const auto& [name, row] : cells.rows()) {
    Json list = Json::array();
    for (const auto& [number, cell] : row) list.push_back({number, cell.sum, cell.count});
    rows.push_back({{"rank", name.first}, {"host", name.second}, {"cells", std::move(list)}});
  }
  return rows;
}

/// Adds the values of one line, and returns the cost.
std::uint64_t take_line(const cloudwatch::MergedLog::Line& line, const std::string& host,
                        const job::MetricDefinitions& definition, cloudwatch::RankCells& cells) {
  const std::int64_t second = line.time.count() / 1000;
  if (!cells.holds(second) || line.text_bytes > line_bytes) return 0;
  const std::uint64_t cost = definition.work_of(line.text);
  if (cost > work_max) return 0;
  for (const job::MetricValue& each : definition.values_in(line.text))
    cells.add({line.rank, host}, second, each.value);
  return cost;
}

}  // namespace

/// Reads on from line `first`; {"next", "count", "width", "rows"}.
Result<Json> WebServer::read_ranks(Book& book, const job::MetricDefinitions& definition,
                                   std::int64_t first, cloudwatch::RankCells& cells) {
  auto next = static_cast<std::uint64_t>(first);
  std::uint64_t count = 0;
  std::uint64_t work = 0;
  std::size_t bytes = 0;
  while (work < work_max && bytes < bytes_max) {
    const std::lock_guard lock(book.mutex);
    count = book.log.count();
    std::vector<cloudwatch::MergedLog::Line> lines =
        TRY(book.log.read(next, lines_at_once, line_bytes));
    if (lines.empty()) break;
    for (const cloudwatch::MergedLog::Line& line : lines) {
      if (work >= work_max) break;
      next = line.number + 1;
      bytes += line.text_bytes;
      const std::string& host = book.hosts.at(line.host).name;
      work += take_line(line, host, definition, cells);
    }
  }
  return Json{{"next", next}, {"count", count}, {"width", cells.width()}, {"rows", rows_of(cells)}};
}

/// {"job", "name", "first", "from", "to", "buckets"}: for each rank, [number, sum, count] of the
/// buckets with values in the lines from `first` on, up to the limits of one call.
Task<Result<Json, aws::Refusal>> WebServer::ranks(Call& call) {
  const std::string job = api::text_of(call.input, "job");
  const std::int64_t first = api::integer_of(call.input, "first").value_or(0);
  if (first < 0) co_return api::invalid("line numbers start at 0");
  const Result<ChartRange> range = chart_range(call.input, 400, "400");
  if (!range) co_return api::invalid(range.error().text);
  const Result<Json, aws::Refusal> described =
      co_await describe(call.exchange, job, call.visit.key);
  if (!described) co_return described.error();
  const Result<job::MetricDefinitions, aws::Refusal> definition =
      definition_of(*described, api::text_of(call.input, "name"));
  if (!definition) co_return definition.error();
  const Result<std::shared_ptr<Book>> book =
      co_await this->book(call.exchange, call.visit.key, job, {});
  if (!book) co_return no_book(book.error());
  std::function<Result<Json>(store::MetricReader&)> read = [&](store::MetricReader&) {
    cloudwatch::RankCells cells(range->from, range->to, range->buckets);
    return read_ranks(**book, *definition, first, cells);
  };
  co_return co_await read_metrics(call, std::move(read));
}

}  // namespace muster::server
