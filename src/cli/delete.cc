// `sm delete`

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/here.h"
#include "cli/job_view.h"
#include "command/line.h"

namespace muster::cli {
namespace {

loop::Task<Result<int>> delete_job(Client& client, std::string job, bool json) {
  // First: the model's place is told, and no answer to DeleteTrainingJob has it.
  const Result<Json> before = co_await describe(client, job, ApiClient::Patience::none);
  if (!before) co_return before.error();
  const std::string status = member_text(*before, "TrainingJobStatus");
  if (!has_ended(*before))
    co_return fail(Errc::invalid_input, job + " is " + to_utf8(status) + ": sm stop --wait " + job +
                                            " first, then delete it");
  Json input{{"TrainingJobName", job}};
  std::string target = "SageMaker.DeleteTrainingJob";
  const Result<Json> deleted =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!deleted) co_return deleted.error();
  if (json) {
    const Json told{{"TrainingJobName", job}, {"TrainingJobStatus", "Deleted"}};
    client.out.text() += visible_json(to_text(told)) + "\n";
    co_return exit_success;
  }
  client.out.text() += visible_line(job) + ": deleted, with its log\n";
  const std::string kept = output_place(*before);
  if (!kept.empty()) client.out.text() += "what it wrote to S3 stays: " + visible_line(kept) + "\n";
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
  if (const std::string local = why_local(env, job); !local.empty())
    return end_with("sm delete", fail(Errc::invalid_input, local));
  return run_client("sm delete", env,
                    [&](Client& client) { return delete_job(client, job, json); });
}

}  // namespace muster::cli
