// `sm describe`

#include <map>
#include <nlohmann/json.hpp>

#include "base/process/local_time.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

loop::Task<Result<int>> show(Client& client, std::string job, bool json) {
  const Result<Json> answer = co_await describe(client, std::move(job), ApiClient::Patience::none);
  if (!answer) co_return answer.error();
  client.out.text() +=
      json ? visible_json(to_text(*answer)) + "\n" : job_text(*answer, client.colour);
  co_return exit_success;
}

loop::Task<Result<int>> show_own(Here& here, places::FoundJob found, bool json) {
  Json& job = found.description;
  const std::map<std::string, pid_t> stewards = places::stewards_of(here.state, found.name);
  if (found.living && !stewards.empty()) job["MusterStewards"] = stewards;
  here.out.text() += json ? visible_json(to_text(job)) + "\n" : job_text(job, here.colour);
  co_return exit_success;
}

}  // namespace

int describe_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("describe"));
  std::string job;
  bool json = false;
  line.text("JOB", job);
  bool utc = false;
  line.flag("--utc", utc);
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (utc) use_utc();
  const Result<std::optional<places::FoundJob>> own = own_job(env, job);
  if (!own) return end_with("sm describe", own.error());
  if (*own)
    return run_here("sm describe", env, [&](Here& here) { return show_own(here, **own, json); });
  return run_client("sm describe", env, [&](Client& client) { return show(client, job, json); });
}

}  // namespace muster::cli
