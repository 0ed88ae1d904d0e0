// `sm delete`

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"

namespace muster::cli {
namespace {

/// `kept`: where the job's output is, which stays; empty: it has none.
std::string deleted_text(const std::string& job, const std::string& what, const std::string& kept,
                         bool json) {
  const Json told{{"TrainingJobName", job}, {"TrainingJobStatus", "Deleted"}};
  if (json) return visible_json(to_text(told)) + "\n";
  const std::string text = visible_line(job) + ": deleted, with its log\n";
  return kept.empty() ? text : text + "its " + what + " is kept: " + visible_line(kept) + "\n";
}

loop::Task<Result<int>> delete_job(Client& client, std::string job, bool json) {
  // First, because the output names the model's place, which DeleteTrainingJob's response lacks.
  const Result<Json> before = co_await describe(client, job, ApiClient::Patience::none);
  if (!before) co_return before.error();
  const std::string status = member_text(*before, "TrainingJobStatus");
  if (!has_ended(*before))
    co_return fail(Errc::invalid_input, job + " is " + to_utf8(status) + "; run sm stop --wait " +
                                            job + ", then delete the job");
  Json input{{"TrainingJobName", job}};
  std::string target = "SageMaker.DeleteTrainingJob";
  const Result<Json> deleted =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!deleted) co_return deleted.error();
  client.out.text() += deleted_text(job, "output in S3", output_place(*before), json);
  co_return exit_success;
}

loop::Task<Result<int>> delete_own(Here& here, places::FoundJob job, bool json) {
  const Result<void> forgotten = places::forget_job(job);
  if (!forgotten) co_return forgotten.error();
  here.out.text() += deleted_text(job.name, "output folder", results_of(job.description), json);
  co_return exit_success;
}

}  // namespace

int delete_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("delete"));
  std::string job;
  bool json = false;
  line.text("JOB", job);
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::optional<places::FoundJob>> own = own_job(env, job);
  if (!own) return end_with("sm delete", own.error());
  if (*own)
    return run_here("sm delete", env, [&](Here& here) { return delete_own(here, **own, json); });
  return run_client("sm delete", env,
                    [&](Client& client) { return delete_job(client, job, json); });
}

}  // namespace muster::cli
