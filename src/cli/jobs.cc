// `sm jobs`

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/job_view.h"
#include "cli/values.h"
#include "command/line.h"

namespace muster::cli {
namespace {

constexpr int limit_default = 20;
constexpr int limit_max = 100'000;
constexpr int page_max = 100;  // The API's.

constexpr std::array statuses = {"InProgress", "Completed", "Failed", "Stopping", "Stopped"};

/// The line as it is typed.
struct JobsOptions {
  std::string status, name, limit;
  bool json = false;
};

struct Query {
  std::string status;
  std::string name;
  int limit = limit_default;
};

Result<Query> query_from(const JobsOptions& options) {
  Query query;
  query.name = options.name;
  query.limit = TRY(whole_number("--limit", options.limit, limit_max, limit_default));
  if (options.status.empty()) return query;
  for (const char* status : statuses)
    if (lower_case(status) == lower_case(options.status)) query.status = status;
  if (query.status.empty())
    return wrong_value("--status", "one of InProgress, Completed, Failed, Stopping, Stopped",
                       options.status);
  return query;
}

loop::Task<Result<int>> list(Client& client, Query query, bool json) {
  Json all = Json::array();
  std::string token;
  do {
    const int left = query.limit - static_cast<int>(all.size());
    Json input{{"MaxResults", std::min(left, page_max)},
               {"SortBy", "CreationTime"},
               {"SortOrder", "Descending"}};
    if (!query.status.empty()) input["StatusEquals"] = query.status;
    if (!query.name.empty()) input["NameContains"] = query.name;
    if (!token.empty()) input["NextToken"] = token;
    std::string target = "SageMaker.ListTrainingJobs";
    const Result<Json> page =
        co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
    if (!page) co_return page.error();
    const auto summaries = page->find("TrainingJobSummaries");
    if (summaries == page->end() || !summaries->is_array())
      co_return fail(Errc::protocol, "the server's list has no TrainingJobSummaries");
    for (const Json& job : *summaries) all.push_back(job);
    token = summaries->empty() ? std::string() : member_text(*page, "NextToken");
  } while (!token.empty() && static_cast<int>(all.size()) < query.limit);
  const UnixMillis now = wall_time();
  client.out.text() +=
      json ? visible_json(to_text(Json{{"TrainingJobSummaries", std::move(all)}})) + "\n"
           : jobs_table(all, now, client.colour);
  co_return exit_success;
}

}  // namespace

int jobs_main(const Args& args, const Env& env) {
  const command::Page& page = command::page_of("jobs");
  command::Line line(page);
  JobsOptions options;
  line.text("--status", options.status);
  line.text("--name", options.name);
  line.text("--limit", options.limit);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<Query> query = query_from(options);
  if (!query) return tell(command::wrong_line(page, query.error().text));
  return run_client("sm jobs", env,
                    [&](Client& client) { return list(client, *query, options.json); });
}

}  // namespace muster::cli
