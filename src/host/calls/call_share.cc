#include "host/calls/call_share.h"

#include <memory>

#include "host/calls/conduct.h"
#include "host/calls/ssh_transport.h"

namespace muster::calls {
namespace {

job::Verdict failed_start(const HostContext& context, const std::string& name, const Error& error) {
  return verdict_of(job::Outcome::failed(error.text), context.training.current_host, name);
}

void open_sshd(HostContext& context, const launch::Call& call, const ShareEnds& ends) {
  const ranks::HostRun::Sink sink = [&context](job::Lines lines) {
    return context.output.launcher_lines(std::move(lines));
  };
  const Result<void> started =
      start_sshd(context.host_run, call.rank.command.env, sink, ends.ended);
  if (!started) ends.ended(failed_start(context, "sshd", started.error()));
}

void start_programs(HostContext& context, const launch::Call& call, const ShareEnds& ends) {
  const auto deciding = std::make_shared<int>(0);
  for (const launch::HostProgram& each : call.programs) *deciding += each.decides ? 1 : 0;
  if (*deciding == 0) ends.done();
  for (const launch::HostProgram& each : call.programs) {
    ranks::HostRun::Program program;
    program.name = each.name;
    program.rank = each.rank;
    program.user = !each.agent;
    program.of_call = !each.agent;
    program.command = each.command;
    program.command.env["MUSTER_SOCKET"] = context.host_run.socket_path();
    program.sink = ends.lines;
    program.on_end = [&context, ends, deciding, decides = each.decides](job::Verdict verdict) {
      context.output.ended(verdict);
      ends.ended(std::move(verdict));
      const bool was_last = decides && --*deciding == 0;
      if (was_last && !context.host_run.stopped()) ends.done();
    };
    const Result<void> started = context.host_run.start(std::move(program));
    if (!started) ends.ended(failed_start(context, each.name, started.error()));
  }
  if (!launch::has_agent(call.programs)) context.host_run.begin_call(ends.done);
}

}  // namespace

ranks::HostRun::Program launcher_program(const HostContext& context, Command command) {
  ranks::HostRun::Program program;
  const std::string& path = command.argv.front();
  program.name = path.substr(path.rfind('/') + 1);
  command.env["MUSTER_SOCKET"] = context.host_run.socket_path();
  program.command = std::move(command);
  return program;
}

void begin_share(HostContext& context, const launch::Call& call, ShareEnds ends) {
  context.output.tag_ranks();
  context.output.mark(job::Mark::launched);
  const bool is_direct = call.kind == launch::Call::Kind::direct;
  const auto on_rank_end = [&context, ends](job::Verdict verdict) {
    context.output.ended(verdict);
    ends.ended(std::move(verdict));
  };
  if (!is_direct || launch::has_agent(call.programs))
    context.host_run.begin_call(call.rank, ends.lines, on_rank_end, ends.done, ends.restarts);
  if (is_direct) return start_programs(context, call, ends);
  if (call.by_ssh) open_sshd(context, call, ends);
}

}  // namespace muster::calls
