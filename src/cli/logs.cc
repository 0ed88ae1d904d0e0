// `sm logs`

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/job_log.h"
#include "command/line.h"

namespace muster::cli {

int logs_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("logs"));
  std::string job;
  JobLogOptions how;
  line.text("JOB", job);
  line.flag("--follow", how.follow);
  line.flag("--raw", how.raw);
  line.flag("--json", how.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  return run_client("sm logs", env, [&](Client& client) { return show_log(client, job, how); });
}

}  // namespace muster::cli
