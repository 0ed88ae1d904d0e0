// `sm queue` and `sm nodes`

#include <nlohmann/json.hpp>

#include "base/dates.h"
#include "base/process/local_time.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/view/here.h"
#include "command/line.h"
#include "engine/slurm/queries.h"
#include "engine/slurm/view.h"
#include "job/preflight/health.h"
#include "platform/places/ask_slurm.h"

namespace muster::cli {
namespace {

/// What `show` makes of Slurm's answer.
loop::Task<Result<int>> tell_of(Here& here, Env env, Args argv,
                                const std::function<std::string(const std::string&)>& show) {
  const Result<std::string> answer =
      co_await places::ask_slurm(here.loop, std::move(env), std::move(argv));
  if (!answer) co_return answer.error();
  here.out.text() += show(*answer);
  co_return exit_success;
}

int run(const std::string& name, const Env& env, const Args& argv,
        const std::function<std::string(const std::string&)>& show) {
  return run_here(name, env, [&](Here& here) { return tell_of(here, env, argv, show); });
}

/// Slurm's commands print times in the zone of their process, which is this process's.
std::string zoned(const std::string& slurm_time) {
  const std::optional<UnixMillis> time = parse_local(slurm_time);
  return time ? zoned_minute(*time) : slurm_time;
}

std::string utc_minute(UnixMillis time) {
  return utc_text(time).substr(0, 16);
}

std::string json_text(const Json& json) {
  return visible_json(to_text(json)) + "\n";
}

}  // namespace

int queue_main(const Args& args, const Env& given) {
  const command::Page& page = command::page_of("queue");
  command::Line line(page);
  std::optional<std::string> user;
  bool over = false;
  bool utc = false;
  bool json = false;
  line.text("--user", user);
  line.flag("--over", over);
  line.flag("--utc", utc);
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (user && (user->empty() || user->front() == '-'))
    return tell(command::wrong_line(page, "--user: expected a user name, got \"" + *user + "\""));
  Env env = given;
  if (utc) {
    use_utc();
    env["TZ"] = "UTC0";
  }
  return run("sm queue", env, slurm::plan_squeue(user.value_or("")),
             [json, over](const std::string& text) {
               const std::vector<slurm::QueuedJob> jobs = slurm::queue_from(text);
               return json ? json_text(slurm::queue_json(jobs, over))
                           : slurm::queue_table(jobs, over, zoned);
             });
}

int nodes_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("nodes"));
  bool utc = false;
  bool json = false;
  line.flag("--utc", utc);
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (utc) use_utc();
  const slurm::Remarks health = preflight::kept_words(preflight::health_folder(state_folder(env)),
                                                      json ? utc_minute : zoned_minute);
  return run("sm nodes", env, slurm::plan_sinfo(), [json, health](const std::string& text) {
    const std::vector<slurm::Node> nodes = slurm::nodes_from(text);
    return json ? json_text(slurm::nodes_json(nodes, health)) : slurm::nodes_table(nodes, health);
  });
}

}  // namespace muster::cli
