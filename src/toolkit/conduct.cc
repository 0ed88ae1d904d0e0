#include "toolkit/conduct.h"

#include <algorithm>

namespace muster::toolkit {

Result<void> Conduct::start_program(std::function<void(job::Verdict)> on_end) {
  const std::vector<std::string>& hosts = context_.training.hosts;
  const auto at = std::find(hosts.begin(), hosts.end(), host());
  HostRun::Program program;
  program.name = context_.training.user_entry_point;
  program.rank = static_cast<int>(at - hosts.begin());
  program.user = true;
  program.command = context_.plan.rank;
  program.sink = [this](job::Lines lines) {
    return context_.output.lines(host(), std::move(lines));
  };
  program.on_end = std::move(on_end);
  Result<void> started = context_.host_run.start(std::move(program));
  if (!started) return started.error().in(context_.training.user_entry_point);
  return started;
}

Result<void> Conduct::start_launcher_program(Command command, HostRun::Sink sink,
                                             std::function<void(job::Verdict)> on_end) {
  HostRun::Program program;
  program.name = command.argv.front().substr(command.argv.front().rfind('/') + 1);
  program.command = std::move(command);
  program.command.env["MUSTER_SOCKET"] = context_.host_run.socket_path();
  program.sink = std::move(sink);
  program.on_end = std::move(on_end);
  return context_.host_run.start(std::move(program));
}

Result<void> Conduct::let_ranks_come(HostRun::Sink sink,
                                     std::function<void(job::Verdict)> on_rank_end,
                                     std::function<void(AgentCall)> on_agent) {
  RankRun run;
  run.command = context_.plan.rank;
  run.command.env["MUSTER_SOCKET"] = context_.host_run.socket_path();
  run.kept = context_.plan.kept_names;
  return context_.host_run.listen(std::move(run), std::move(sink), std::move(on_rank_end),
                                  std::move(on_agent));
}

job::Verdict Conduct::failed_here(const std::string& process, const Error& error) const {
  job::Verdict verdict;
  verdict.outcome = job::Outcome::failed(error.text);
  verdict.host = host();
  verdict.process = process;
  return verdict;
}

job::Verdict Conduct::stopped_verdict(int signal) const {
  job::Verdict verdict;
  verdict.outcome = job::Outcome::stopped(signal);
  verdict.host = host();
  verdict.process = "train";
  return verdict;
}

}  // namespace muster::toolkit
