// `sm describe`

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "cli/apps.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/job_view.h"

namespace muster::cli {
namespace {

loop::Task<Result<int>> show(Client& client, std::string job, bool json) {
  const Result<Json> answer = co_await describe(client, std::move(job), ApiClient::Patience::none);
  if (!answer) co_return answer.error();
  client.out.text() +=
      json ? visible_json(to_text(*answer)) + "\n" : job_text(*answer, client.colour);
  co_return exit_success;
}

}  // namespace

void add_describe(CLI::App& app, DescribeOptions& options) {
  app.description("Tells all about a job of the server that AWS_ENDPOINT_URL names.");
  app.footer(
      "examples:\n"
      "  sm describe mnist-2026-01-31-12-00-00-1a2b\n"
      "  sm describe --json JOB\n"
      "Exit codes: 0 told, 2 no such job or wrong key, 3 no answer from the server.");
  app.add_option("JOB", options.job, "the job's name; sm jobs lists them")
      ->required()
      ->type_name("JOB");
  app.add_flag("--json", options.json, "print one JSON object, as the API has it");
}

int describe_main(const Args& args, const Env& env) {
  DescribeOptions options;
  CLI::App app("", "sm describe");
  add_describe(app, options);
  if (const std::optional<Stop> stop = parse(app, args))
    return print_stop(stop->exit_code, stop->text);
  return run_client("sm describe", env,
                    [&](Client& client) { return show(client, options.job, options.json); });
}

}  // namespace muster::cli
