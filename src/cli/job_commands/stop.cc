// `sm stop`

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "net/loop/wait.h"

namespace muster::cli {
namespace {

constexpr Duration poll_every = std::chrono::seconds(1);

/// How a stop is asked for, and what is shown of it.
struct Wish {
  bool now = false;  ///< Without grace.
  bool wait = false;
  bool json = false;
};

std::string asked_text(const std::string& job, bool killed) {
  if (killed) return job + ": killing it now, without waiting any longer";
  return "asked " + job +
         " to stop; its processes have time to exit; to kill them at once, run sm stop --now " +
         job;
}

std::string stopped_text(const std::string& job, const std::string& status, bool json) {
  const Json told{{"TrainingJobName", job}, {"TrainingJobStatus", status}};
  return json ? visible_json(to_text(told)) + "\n"
              : visible_line(job) + ": " + visible_line(status) + "\n";
}

loop::Task<Result<int>> stop_job(Client& client, std::string job, Wish wish) {
  // First: AWS's answer to a stop does not tell a job that ended from one that never was.
  const Result<Json> before = co_await describe(client, job, ApiClient::Patience::none);
  if (!before) co_return before.error();
  if (has_ended(*before))
    co_return fail(Errc::invalid_input,
                   job + " has already ended: " + member_text(*before, "TrainingJobStatus"));
  Json input{{"TrainingJobName", job}};
  if (wish.now) input["MusterNow"] = true;
  std::string target = "SageMaker.StopTrainingJob";
  const Result<Json> asked =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!asked) co_return asked.error();
  client.complain(asked_text(visible_line(job), wish.now));
  client.farewell = job + " is being stopped; sm describe " + job + " shows when it has stopped";
  loop::Timer timer(client.loop);
  std::string status = "Stopping";
  while (wish.wait) {
    const Result<Json> now = co_await describe(client, job, ApiClient::Patience::some);
    if (!now) co_return now.error();
    if (has_ended(*now)) {
      status = member_text(*now, "TrainingJobStatus");
      break;
    }
    const bool due = co_await timer.after(poll_every);
    if (!due) break;
  }
  client.out.text() += stopped_text(job, status, wish.json);
  co_return exit_success;
}

loop::Task<Result<int>> stop_own(Here& here, places::FoundJob job, Wish wish) {
  if (!job.living)
    co_return fail(Errc::invalid_input, job.name + " has already ended: " +
                                            member_text(job.description, "TrainingJobStatus"));
  Result<bool> killed = co_await places::ask_to_stop(here.loop, job);
  if (killed && !*killed && wish.now) killed = co_await places::ask_to_stop(here.loop, job);
  if (!killed) co_return fail(Errc::invalid_input, killed.error().text);
  here.complain(asked_text(visible_line(job.name), *killed));
  here.farewell =
      job.name + " is being stopped; sm describe " + job.name + " shows when it has stopped";
  std::string status = "Stopping";
  if (wish.wait) {
    const Result<void> ended = co_await places::wait_for_end(here.loop, job);
    if (!ended) co_return ended.error();
    const Result<places::FoundJob> now = places::find_again(here.state, job);
    if (!now) co_return now.error();
    status = member_text(now->description, "TrainingJobStatus");
  }
  here.out.text() += stopped_text(job.name, status, wish.json);
  co_return exit_success;
}

}  // namespace

int stop_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("stop"));
  std::string job;
  Wish wish;
  line.text("JOB", job);
  line.flag("--now", wish.now);
  line.flag("--wait", wish.wait);
  line.flag("--json", wish.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::optional<places::FoundJob>> own = own_job(env, job);
  if (!own) return end_with("sm stop", own.error());
  if (*own)
    return run_here("sm stop", env, [&](Here& here) { return stop_own(here, **own, wish); });
  return run_client("sm stop", env, [&](Client& client) { return stop_job(client, job, wish); });
}

}  // namespace muster::cli
