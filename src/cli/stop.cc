// `sm stop`

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "cli/apps.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/job_view.h"
#include "loop/wait.h"

namespace muster::cli {
namespace {

constexpr Duration poll_every = std::chrono::seconds(1);

loop::Task<Result<int>> stop_job(Client& client, std::string job, bool wait) {
  // First: AWS's answer to a stop does not tell a job that ended from one that never was.
  const Result<Json> before = co_await describe(client, job, ApiClient::Patience::none);
  if (!before) co_return before.error();
  if (has_ended(*before))
    co_return fail(Errc::invalid_input,
                   job + " has ended already: " + member_text(*before, "TrainingJobStatus"));
  Json input{{"TrainingJobName", job}};
  std::string target = "SageMaker.StopTrainingJob";
  const Result<Json> asked =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!asked) co_return asked.error();
  client.farewell = job + " is being stopped; sm describe " + job + " tells when it has";
  loop::Timer timer(client.loop);
  std::string status = "Stopping";
  while (wait) {
    const Result<Json> now = co_await describe(client, job, ApiClient::Patience::some);
    if (!now) co_return now.error();
    if (has_ended(*now)) {
      status = member_text(*now, "TrainingJobStatus");
      break;
    }
    const bool due = co_await timer.after(poll_every);
    if (!due) break;
  }
  client.out.text() += visible_line(job) + ": " + visible_line(status) + "\n";
  co_return exit_success;
}

}  // namespace

void add_stop(CLI::App& app, StopOptions& options) {
  app.description(
      "Stops a job of the server that AWS_ENDPOINT_URL names: SIGTERM to its processes, two\n"
      "minutes to end, and what they have written by then is kept.");
  app.footer(
      "examples:\n"
      "  sm stop JOB\n"
      "  sm stop JOB --wait\n"
      "      returns when the job has ended\n"
      "Exit codes: 0 asked (with --wait: it has ended), 2 no such job, one that has ended, or a\n"
      "wrong key, 3 no answer from the server.");
  app.add_option("JOB", options.job, "the job's name; sm jobs lists them")
      ->required()
      ->type_name("JOB");
  app.add_flag("--wait", options.wait, "return when the job has ended");
}

int stop_main(const Args& args, const Env& env) {
  StopOptions options;
  CLI::App app("", "sm stop");
  add_stop(app, options);
  if (const std::optional<Stop> stop = parse(app, args))
    return print_stop(stop->exit_code, stop->text);
  return run_client("sm stop", env,
                    [&](Client& client) { return stop_job(client, options.job, options.wait); });
}

}  // namespace muster::cli
