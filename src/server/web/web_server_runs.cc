// The web page's table of runs: a page of it, its columns, some jobs side by side, all of it as
// CSV.

#include <optional>

#include "aws/api/inputs.h"
#include "base/dates.h"
#include "net/loop/other_loop.h"
#include "server/cloudwatch/metric_series.h"
#include "server/runs/run_query.h"
#include "server/runs/run_reader.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;
using runs::RunReader;

constexpr std::size_t compared_max = 50;
constexpr std::size_t job_name_bytes_max = 63;
constexpr std::size_t contains_bytes_max = 256;
constexpr std::size_t csv_rows = 1000;

Json json_of(const runs::Cell& cell) {
  if (const auto* const number = std::get_if<double>(&cell)) return *number;
  if (const auto* const value = std::get_if<store::RunValue>(&cell)) return value->text;
  return {};
}

Json json_of(const std::vector<runs::Cell>& cells) {
  Json list = Json::array();
  for (const runs::Cell& each : cells) list.push_back(json_of(each));
  return list;
}

Json json_of(const runs::Run& run) {
  Json json{{"name", run.name},
            {"status", run.status},
            {"secondary", run.secondary},
            {"created", api::seconds(run.created)},
            {"duration", nullptr}};
  if (run.duration) json["duration"] = static_cast<double>(run.duration->count()) / 1000;
  return json;
}

Result<Json> table_of(RunReader& reader, const runs::Query& query, UnixMillis now) {
  const runs::RunPage page = TRY(reader.page(query, now));
  Json list = Json::array();
  for (const runs::Run& each : page.runs) {
    Json& run = list.emplace_back(json_of(each));
    run["values"] = json_of(each.values);
  }
  Json answer{{"runs", std::move(list)}, {"matching", page.matching}, {"total", page.total}};
  if (page.next) answer["next"] = runs::token_of(*page.next);
  return answer;
}

Result<Json> names_of(RunReader& reader, const std::string& contains) {
  struct {
    const char* name;
    runs::Field field;
  } constexpr lists[] = {{"hyperparameters", runs::Field::hyperparameter},
                         {"tags", runs::Field::tag},
                         {"metrics", runs::Field::last}};
  Json answer{{"more", Json::array()}};
  for (const auto& list : lists) {
    const runs::RunNames found = TRY(reader.names(list.field, contains));
    answer[list.name] = Json::array();
    for (const auto& [name, jobs] : found.names) answer[list.name].push_back({name, jobs});
    if (found.more) answer["more"].push_back(list.name);
  }
  return answer;
}

Result<Json> comparison_of(RunReader& reader, const std::vector<std::string>& jobs,
                           UnixMillis now) {
  const runs::Comparison compared = TRY(reader.compare(jobs, now));
  Json list = Json::array(), rows = Json::array();
  for (const runs::Run& each : compared.runs) list.push_back(json_of(each));
  for (const runs::ComparedRow& each : compared.rows)
    rows.push_back({{"column", runs::column_text(each.column)},
                    {"differs", each.differs},
                    {"values", json_of(each.values)}});
  return Json{{"runs", std::move(list)},
              {"unknown", compared.unknown},
              {"rows", std::move(rows)},
              {"left_out", compared.left_out}};
}

Result<std::vector<std::string>> jobs_in(const Json& input) {
  const Json* const list = api::list_of(input, "jobs");
  if (list == nullptr || list->empty() || list->size() > compared_max)
    return fail(Errc::invalid_input, "jobs must be a list of 1 to 50 names");
  std::vector<std::string> jobs;
  for (const Json& each : *list) {
    if (!each.is_string() || each.get_ref<const std::string&>().size() > job_name_bytes_max)
      return fail(Errc::invalid_input, "a job's name must have at most 63 bytes");
    jobs.push_back(each.get<std::string>());
  }
  return jobs;
}

Result<std::string> contains_in(const Json& input) {
  std::string contains = api::text_of(input, "contains");
  if (contains.size() > contains_bytes_max)
    return fail(Errc::invalid_input, "contains must have at most 256 bytes");
  return contains;
}

std::string csv_of(const runs::Cell& cell) {
  if (const auto* const number = std::get_if<double>(&cell))
    return cloudwatch::number_text(*number);
  const auto* const value = std::get_if<store::RunValue>(&cell);
  if (value == nullptr) return {};
  return value->is_number() ? value->text : cloudwatch::csv_text(value->text);
}

std::string csv_of(const runs::Run& run) {
  std::string line =
      cloudwatch::csv_text(run.name) + "," + run.status + "," + iso_date(run.created) + "," +
      (run.duration ? cloudwatch::number_text(static_cast<double>(run.duration->count()) / 1000)
                    : std::string());
  for (const runs::Cell& each : run.values) line += "," + csv_of(each);
  return line + "\r\n";
}

std::string csv_head(const runs::Query& query) {
  std::string line = "job,status,created,duration";
  for (const runs::Column& each : query.columns)
    line += "," + cloudwatch::csv_text(runs::column_text(each));
  return line + "\r\n";
}

Result<runs::Query> csv_query(const std::string& text) {
  Json input = TRY(parse_json(text));
  if (!input.is_object()) return fail(Errc::invalid_input, "query must be a JSON object");
  input.erase("after");
  input.erase("limit");
  runs::Query query = TRY(runs::query_in(input));
  query.limit = csv_rows;
  return query;
}

}  // namespace

Task<Result<Json, aws::Refusal>> WebServer::read_runs(
    Call& call, std::function<Result<Json>(RunReader&)> read) {
  const auto work = [this, &read, gone = call.exchange.gone()]() -> Result<Json> {
    RunReader reader = TRY(RunReader::open(options_.store, gone));
    return read(reader);
  };
  Result<Json> answer = co_await in_turn(metric_reads_, call.exchange, call.visit.key, work);
  if (answer) co_return *std::move(answer);
  const Error& error = answer.error();
  if (error.code == Errc::denied) co_return unread(error);
  if (error.code == Errc::system) co_return api::internal_failure(error);
  co_return api::invalid(error.text);
}

/// Adds to an answer's runs which of them hang.
Task<Result<Json, aws::Refusal>> WebServer::with_hangs(Call& call,
                                                       Result<Json, aws::Refusal> answer) {
  if (!answer) co_return answer;
  Json& runs = answer->at("runs");
  std::vector<std::string> names;
  for (const Json& each : runs) names.push_back(each.at("name"));
  std::function<Task<std::vector<bool>>()> look = [this, names]() -> Task<std::vector<bool>> {
    std::vector<bool> found;
    for (const std::string& each : names) found.push_back(options_.state.hangs(each));
    co_return found;
  };
  const std::vector<bool> hangs =
      co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(look));
  for (std::size_t i = 0; i < hangs.size(); ++i) runs[i]["hangs"] = static_cast<bool>(hangs[i]);
  co_return answer;
}

/// A page of the table. Source: docs/protocols/runs.md.
Task<Result<Json, aws::Refusal>> WebServer::runs(Call& call) {
  const auto read = [this, &call](RunReader& reader) -> Result<Json> {
    const runs::Query query = TRY(runs::query_in(call.input));
    return table_of(reader, query, options_.now());
  };
  co_return co_await with_hangs(call, co_await read_runs(call, read));
}

/// {"contains"}: the known names of hyperparameters, tags and metrics.
Task<Result<Json, aws::Refusal>> WebServer::run_columns(Call& call) {
  return read_runs(call, [&call](RunReader& reader) -> Result<Json> {
    const std::string contains = TRY(contains_in(call.input));
    return names_of(reader, contains);
  });
}

/// {"jobs"}: all their values, side by side.
Task<Result<Json, aws::Refusal>> WebServer::compare_runs(Call& call) {
  const auto read = [this, &call](RunReader& reader) -> Result<Json> {
    const std::vector<std::string> jobs = TRY(jobs_in(call.input));
    return comparison_of(reader, jobs, options_.now());
  };
  co_return co_await with_hangs(call, co_await read_runs(call, read));
}

/// `query` of the query: the whole table as CSV.
Task<void> WebServer::download_runs(http::Exchange& exchange, std::string key) {
  Result<runs::Query> query = csv_query(asked(exchange, "query"));
  if (!query) co_return co_await refuse(exchange, 400, query.error().text);
  CsvPiece piece =
      [path = options_.store, now = options_.now(), query = *std::move(query), begun = false,
       ended = false](const std::function<bool()>& gone) mutable -> Result<std::string> {
    if (ended) return std::string();
    RunReader reader = TRY(RunReader::open(path, gone));
    const runs::RunPage page = TRY(reader.page(query, now));
    std::string text = std::exchange(begun, true) ? std::string() : csv_head(query);
    for (const runs::Run& each : page.runs) text += csv_of(each);
    query.after = page.next;
    ended = !page.next;
    return text;
  };
  co_await send_csv(exchange, std::move(key), "runs.csv", std::move(piece));
}

}  // namespace muster::server
