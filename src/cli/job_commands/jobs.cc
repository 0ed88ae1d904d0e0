// `sm jobs`

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/process/local_time.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/values.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "platform/places/job_description.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

constexpr int limit_default = 20;
constexpr int limit_max = 100'000;
constexpr int page_max = 100;  // The API's.

constexpr std::array statuses = {"InProgress", "Completed", "Failed", "Stopping", "Stopped"};

/// The line as it is typed.
struct JobsOptions {
  std::string status, name, type, tag, limit;
  bool json = false;
};

struct Query {
  std::string status;
  std::string name;
  std::string type;
  Json tag;  ///< As the API has it; null: any.
  int limit = limit_default;
};

/// An empty text means no filter. A key cannot be empty, so text that begins with "=" is an error.
Result<Json> tag_from(const std::string& text) {
  if (text.empty()) return Json();
  const std::size_t equals = text.find('=');
  Json tag{{"Key", text.substr(0, equals)}};
  if (equals == 0) return wrong_value("--tag", "KEY or KEY=VALUE", text);
  if (equals != std::string::npos) tag["Value"] = text.substr(equals + 1);
  return tag;
}

Result<Query> query_from(const JobsOptions& options) {
  Query query;
  query.name = options.name;
  query.type = options.type;
  query.tag = TRY(tag_from(options.tag));
  query.limit = TRY(whole_number("--limit", options.limit, limit_max, limit_default));
  if (options.status.empty()) return query;
  for (const char* status : statuses)
    if (lower_case(status) == lower_case(options.status)) query.status = status;
  if (query.status.empty())
    return wrong_value("--status", "one of InProgress, Completed, Failed, Stopping, Stopped",
                       options.status);
  return query;
}

/// The jobs among those of this machine that are asked for, in their order.
Json summaries_of(const std::vector<places::FoundJob>& jobs, const Query& query) {
  Json all = Json::array();
  for (const places::FoundJob& job : jobs) {
    const bool named = job.name.find(query.name) != std::string::npos;
    const std::string status = member_text(job.description, "TrainingJobStatus");
    const Json config = job.description.value("ResourceConfig", Json::object());
    const bool typed = member_text(config, "InstanceType").find(query.type) != std::string::npos;
    const bool fits = named && typed && query.tag.is_null();  // Jobs of `sm fit` have no tags.
    if (fits && (query.status.empty() || status == query.status))
      all.push_back(places::summary_of(job.description));
  }
  return all;
}

/// Both lists as one, as long as was asked for; each has the newest first.
Json merged(const Json& own, const Json& server, const Query& query) {
  std::vector<Json> all(own.begin(), own.end());
  all.insert(all.end(), server.begin(), server.end());
  const auto time = [](const Json& job) {
    return member_time(job, "CreationTime").value_or(UnixMillis(0));
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Json& a, const Json& b) { return time(a) > time(b); });
  if (all.size() > static_cast<std::size_t>(query.limit))
    all.resize(static_cast<std::size_t>(query.limit));
  return all;
}

std::string list_text(const Json& jobs, bool colour, bool json) {
  if (json) return visible_json(to_text(Json{{"TrainingJobSummaries", jobs}})) + "\n";
  return jobs_table(jobs, wall_time(), colour);
}

loop::Task<Result<Json>> summaries_from(Client& client, Query query) {
  Json all = Json::array();
  std::string token;
  do {
    const int left = query.limit - static_cast<int>(all.size());
    Json input{{"MaxResults", std::min(left, page_max)},
               {"SortBy", "CreationTime"},
               {"SortOrder", "Descending"}};
    if (!query.status.empty()) input["StatusEquals"] = query.status;
    if (!query.name.empty()) input["NameContains"] = query.name;
    if (!query.type.empty()) input["MusterInstanceType"] = query.type;
    if (!query.tag.is_null()) input["MusterTag"] = query.tag;
    if (!token.empty()) input["NextToken"] = token;
    std::string target = "SageMaker.ListTrainingJobs";
    const Result<Json> page =
        co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
    if (!page) co_return page.error();
    const auto summaries = page->find("TrainingJobSummaries");
    if (summaries == page->end() || !summaries->is_array())
      co_return fail(Errc::protocol, "the server's list of jobs has no TrainingJobSummaries");
    for (const Json& job : *summaries) all.push_back(job);
    token = summaries->empty() ? std::string() : member_text(*page, "NextToken");
  } while (!token.empty() && static_cast<int>(all.size()) < query.limit);
  co_return all;
}

/// Jobs of this machine are shown even if the server does not answer.
loop::Task<Result<int>> list(Client& client, Json own, Query query, bool json) {
  const Result<Json> server = co_await summaries_from(client, query);
  if (!server && own.empty()) co_return server.error();
  const Json all = merged(own, server ? *server : Json::array(), query);
  client.out.text() += list_text(all, client.colour, json);
  if (!server) co_return server.error();
  co_return exit_success;
}

loop::Task<Result<int>> list_own(Here& here, Json own, Query query, bool json) {
  here.out.text() += list_text(merged(own, Json::array(), query), here.colour, json);
  co_return exit_success;
}

}  // namespace

int jobs_main(const Args& args, const Env& env) {
  const command::Page& page = command::page_of("jobs");
  command::Line line(page);
  JobsOptions options;
  line.text("--status", options.status);
  line.text("--name", options.name);
  line.text("--instance-type", options.type);
  line.text("--tag", options.tag);
  line.text("--limit", options.limit);
  bool utc = false;
  line.flag("--utc", utc);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (utc) use_utc();
  const Result<Query> query = query_from(options);
  if (!query) return tell(command::wrong_line(page, query.error().text));
  const Result<std::vector<places::FoundJob>> found = places::find_jobs(state_folder(env));
  const Json own = found ? summaries_of(*found, *query) : Json::array();
  if (names_server(env) || (found && found->empty()))
    return run_client("sm jobs", env,
                      [&](Client& client) { return list(client, own, *query, options.json); });
  if (!found) return end_with("sm jobs", with_server_hint(found.error()));
  return run_here("sm jobs", env,
                  [&](Here& here) { return list_own(here, own, *query, options.json); });
}

}  // namespace muster::cli
