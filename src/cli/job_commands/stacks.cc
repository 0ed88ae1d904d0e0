// `sm stacks`

#include "job/wire/stacks.h"

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_log.h"
#include "command/line.h"
#include "platform/stack_tree.h"

namespace muster::cli {
namespace {

struct StacksOptions {
  std::string job;
  std::string host;
  bool native = false;
  bool json = false;

  job::Calls calls() const { return native ? job::Calls::native : job::Calls::python; }
};

Result<int> show(Out& out, const StacksOptions& options, std::vector<job::HostStacks> hosts) {
  const int count = static_cast<int>(hosts.size());
  if (!options.host.empty()) {
    std::erase_if(hosts, [&](const auto& each) { return each.host != options.host; });
    if (hosts.empty()) return no_such_host(options.job, options.host, count);
  }
  if (options.json) {
    out.text() += visible_json(to_text(job::to_json(options.job, hosts))) + "\n";
    return exit_success;
  }
  out.text() += platform::stack_headline(hosts) + "\n" + visible(platform::stack_text(hosts));
  return exit_success;
}

loop::Task<Result<int>> ask_server(Client& client, StacksOptions options) {
  std::string operation = options.native ? "SageMaker.DescribeTrainingJobNativeStacks"
                                         : "SageMaker.DescribeTrainingJobStacks";
  const Result<Json> answer =
      co_await ask_about(client, std::move(operation), options.job, ApiClient::Patience::none);
  if (!answer) co_return answer.error();
  Result<std::vector<job::HostStacks>> hosts = job::job_stacks_from_json(*answer);
  if (!hosts) co_return hosts.error();
  co_return show(client.out, options, *std::move(hosts));
}

loop::Task<Result<int>> ask_here(Here& here, places::FoundJob job, StacksOptions options) {
  if (!job.living)
    co_return fail(Errc::not_found, options.job + " has ended, so it has no processes");
  Result<std::vector<job::HostStacks>> hosts =
      co_await places::ask_for_stacks(here.loop, std::move(job), options.calls());
  if (!hosts) co_return hosts.error();
  co_return show(here.out, options, *std::move(hosts));
}

}  // namespace

int stacks_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("stacks"));
  StacksOptions options;
  line.text("JOB", options.job);
  line.text("--host", options.host);
  line.flag("--native", options.native);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::optional<places::FoundJob>> own = own_job(env, options.job);
  if (!own) return end_with("sm stacks", own.error());
  if (*own)
    return run_here("sm stacks", env, [&](Here& here) { return ask_here(here, **own, options); });
  return run_client("sm stacks", env, [&](Client& client) { return ask_server(client, options); });
}

}  // namespace muster::cli
