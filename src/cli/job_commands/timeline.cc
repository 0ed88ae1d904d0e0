// `sm timeline`, `sm trace`

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files/given_path.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_log.h"
#include "cli/view/job_view.h"
#include "cli/view/own_timeline.h"
#include "cli/view/timeline_view.h"
#include "command/line.h"
#include "net/loop/worker.h"

namespace muster::cli {
namespace {

/// Puts a timeline on standard output or into a file: what a command is about.
using Show = std::function<Result<int>(Out& out, const job::JobTimeline& timeline)>;

loop::Task<Result<int>> ask_server(Client& client, std::string job, Show show) {
  std::string operation = "SageMaker.DescribeTrainingJobTimeline";
  const Result<Json> answer =
      co_await ask_about(client, std::move(operation), std::move(job), ApiClient::Patience::none);
  if (!answer) co_return answer.error();
  const Result<job::JobTimeline> timeline = job::job_timeline_from(*answer);
  if (!timeline) co_return timeline.error();
  co_return show(client.out, *timeline);
}

loop::Task<Result<int>> look_here(Here& here, places::FoundJob job, Show show) {
  if (job.description.value("MusterLogDropped", false))
    co_return fail(Errc::not_found, job.name + ": the job's journals were too large to keep");
  Result<job::JobTimeline> timeline = co_await own_timeline(here.loop, std::move(job));
  if (!timeline) co_return timeline.error();
  co_return show(here.out, *timeline);
}

int with_timeline(const std::string& name, const std::string& job, const Env& env,
                  const Show& show) {
  const Result<std::optional<places::FoundJob>> own = own_job(env, job);
  if (!own) return end_with(name, own.error());
  if (*own) return run_here(name, env, [&](Here& here) { return look_here(here, **own, show); });
  return run_client(name, env, [&](Client& client) { return ask_server(client, job, show); });
}

struct Wanted {
  std::string host;
  bool json = false;
  std::optional<job::JobTimeline> other{};  ///< To compare with.
};

Result<int> show_timeline(Out& out, const job::JobTimeline& timeline, const Wanted& wanted) {
  std::optional<Comparison> comparison;
  if (wanted.other) comparison = comparison_of(timeline, *wanted.other, wanted.host);
  if (wanted.json) {
    Json json = job::to_json(timeline);
    if (comparison) json["compare"] = to_json(*comparison);
    out.text() += visible_json(to_text(json)) + "\n";
    return exit_success;
  }
  const std::string text = timeline_text(timeline, wanted.host);
  if (text.empty())
    return no_such_host(timeline.job, wanted.host, static_cast<int>(timeline.hosts.size()));
  out.text() += text;
  if (comparison) out.text() += "\n" + comparison_text(*comparison);
  return exit_success;
}

Result<int> write_trace(Out& out, const job::JobTimeline& timeline, std::string file) {
  if (file == "-") {
    out.text() += trace_text(timeline);
    return exit_success;
  }
  if (file.empty()) file = timeline.job + ".trace.json";
  TRY(write_given(file, trace_text(timeline)));
  out.text() += visible_line(file) + "\n";
  return exit_success;
}

}  // namespace

int timeline_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("timeline"));
  std::string job, compare;
  Wanted wanted;
  line.text("JOB", job);
  line.text("--host", wanted.host);
  line.text("--compare", compare);
  line.flag("--json", wanted.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (!compare.empty()) {
    const Show keep = [&](Out&, const job::JobTimeline& timeline) -> Result<int> {
      wanted.other = timeline;
      return exit_success;
    };
    const int code = with_timeline("sm timeline", compare, env, keep);
    if (code != exit_success) return code;
  }
  return with_timeline("sm timeline", job, env, [&](Out& out, const job::JobTimeline& timeline) {
    return show_timeline(out, timeline, wanted);
  });
}

int trace_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("trace"));
  std::string job, file;
  line.text("JOB", job);
  line.text("--output", file);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  return with_timeline("sm trace", job, env, [&](Out& out, const job::JobTimeline& timeline) {
    return write_trace(out, timeline, file);
  });
}

}  // namespace muster::cli
