// `sm logs`

#include "cli/apps.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/job_log.h"

namespace muster::cli {

void add_logs(CLI::App& app, LogsOptions& options) {
  app.description(
      "Prints what a job of the server that AWS_ENDPOINT_URL names has written: the lines of all\n"
      "hosts and the job's statuses, in order of time.");
  app.footer(
      "examples:\n"
      "  sm logs JOB\n"
      "  sm logs -f JOB\n"
      "      goes on to the job's end; Ctrl-C leaves the job alone\n"
      "Exit codes: 0 printed, 2 no such job or wrong key, 3 no answer from the server; with -f as\n"
      "the job ended: 0 completed, 1 failed or stopped, 4 timed out.");
  app.add_option("JOB", options.job, "the job's name; sm jobs lists them")
      ->required()
      ->type_name("JOB");
  app.add_flag("-f,--follow", options.follow, "go on until the job ends");
  app.add_flag("--raw", options.raw, raw_help);
  app.add_flag("--json", options.json, "one JSON object a line instead of text");
}

int logs_main(const Args& args, const Env& env) {
  LogsOptions options;
  CLI::App app("", "sm logs");
  add_logs(app, options);
  if (const std::optional<Stop> stop = parse(app, args))
    return print_stop(stop->exit_code, stop->text);
  const JobLogOptions how{.follow = options.follow, .json = options.json, .raw = options.raw};
  return run_client("sm logs", env,
                    [&](Client& client) { return show_log(client, options.job, how); });
}

}  // namespace muster::cli
