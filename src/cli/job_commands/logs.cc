// `sm logs`

#include "base/process/local_time.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/server_client.h"
#include "cli/values.h"
#include "cli/view/here.h"
#include "cli/view/job_log.h"
#include "cli/view/own_log.h"
#include "command/line.h"

namespace muster::cli {
namespace {

constexpr int tail_max = 1'000'000;  // What is kept in memory.
constexpr int rank_max = 1'000'000;

/// The line as it is typed.
struct LogsOptions {
  std::string tail, host, rank, since;
  bool utc = false;
};

Result<LogFilter> filter_from(const LogsOptions& options) {
  LogFilter filter;
  filter.host = options.host;
  filter.tail = static_cast<std::size_t>(TRY(whole_number("--tail", options.tail, tail_max, 0)));
  if (!options.rank.empty()) {
    const std::optional<std::int64_t> rank = parse_integer(options.rank);
    if (!rank || *rank < 0 || *rank > rank_max)
      return wrong_value("--rank", "a rank, 0 or higher", options.rank);
    filter.rank = static_cast<int>(*rank);
  }
  if (!options.since.empty()) filter.since = TRY(moment("--since", options.since, wall_time()));
  return filter;
}

}  // namespace

int logs_main(const Args& args, const Env& env) {
  const command::Page& page = command::page_of("logs");
  command::Line line(page);
  std::string job;
  JobLogOptions how;
  LogsOptions typed;
  line.text("JOB", job);
  line.text("--tail", typed.tail);
  line.text("--host", typed.host);
  line.text("--rank", typed.rank);
  line.text("--since", typed.since);
  line.flag("--follow", how.follow);
  line.flag("--raw", how.raw);
  line.flag("--utc", typed.utc);
  line.flag("--json", how.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (typed.utc) use_utc();  // Before a time is read.
  Result<LogFilter> filter = filter_from(typed);
  if (!filter) return tell(command::wrong_line(page, filter.error().text));
  how.filter = *std::move(filter);
  const Result<std::optional<places::FoundJob>> own = own_job(env, job);
  if (!own) return end_with("sm logs", own.error());
  if (*own)
    return run_here("sm logs", env, [&](Here& here) { return show_own_log(here, **own, how); });
  return run_client("sm logs", env, [&](Client& client) { return show_log(client, job, how); });
}

}  // namespace muster::cli
