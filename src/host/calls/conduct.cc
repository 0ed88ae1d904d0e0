#include "host/calls/conduct.h"

namespace muster::calls {

job::Verdict verdict_of(job::Outcome outcome, const std::string& host, const std::string& process) {
  job::Verdict verdict;
  verdict.outcome = std::move(outcome);
  verdict.host = host;
  verdict.process = process;
  return verdict;
}

Result<void> Conduct::open_socket() {
  if (!context_.socket) return {};
  ranks::HostRun::Visitors visitors;
  visitors.on_agent = [this](ranks::AgentCall call) { agent(std::move(call)); };
  visitors.on_call = [this](launch::Call made, launch::CallEnd on_end) {
    return call(std::move(made), std::move(on_end), false);
  };
  visitors.on_call_gone = [this] {
    call_gone(failed_here("operator", fail(Errc::closed, "stopped before its call")));
  };
  visitors.on_rank_started = [this](int rank, std::int64_t pid) {
    context_.output.mark(job::Mark::rank);
    context_.output.rank_started({rank, pid});
  };
  return context_.host_run.listen(std::move(visitors));
}

loop::Task<> Conduct::work() {
  CHECK_THAT(!begun_, "a host's work is done once");
  if (given_up_) co_return;
  context_.output.mark(job::Mark::checked);
  Prepared prepared = co_await context_.prepare();
  if (given_up_) co_return;
  begun_ = true;
  if (job::Verdict* failed = std::get_if<job::Verdict>(&prepared)) {
    end_work(std::move(*failed));
    co_return;
  }
  Work work = std::get<Work>(std::move(prepared));
  const std::string name = work.name;
  const Result<void> done = begin(std::move(work));
  if (!done) end_work(failed_here(name, done.error()));
}

Result<void> Conduct::begin(Work work) {
  if (work.program) return start_program(work);
  CHECK_THAT(work.call.has_value(), "a host's work is a program or a call");
  return call(
      *std::move(work.call), [this](const launch::CallResult& result) { end_work(result.verdict); },
      true);
}

Result<void> Conduct::start_program(const Work& work) {
  ranks::HostRun::Program program;
  program.name = work.name;
  program.rank = work.rank;
  program.user = true;
  program.command = *work.program;
  if (context_.socket) program.command.env["MUSTER_SOCKET"] = context_.host_run.socket_path();
  for (const auto& [name, value] : context_.for_operators) program.command.env[name] = value;
  program.sink = [this](job::Lines lines) {
    return context_.output.lines(host(), std::move(lines));
  };
  context_.output.mark(job::Mark::launched);
  program.on_end = [this](job::Verdict verdict) {
    context_.output.ended(verdict);
    end_work(std::move(verdict));
  };
  Result<void> started = context_.host_run.start(std::move(program));
  if (!started) return started.error().in(work.name);
  if (work.rank >= 0) context_.output.mark(job::Mark::rank);
  return started;
}

void Conduct::give_up_work(int signal) {
  refuse_work(stopped_verdict(signal));
}

void Conduct::refuse_work(job::Verdict verdict) {
  if (begun_ || given_up_) return;
  given_up_ = true;
  end_work(std::move(verdict));
}

void Conduct::end_work(job::Verdict verdict) {
  own_end_ = verdict;
  host_ended(std::move(verdict));
}

job::Verdict Conduct::failed_here(const std::string& process, const Error& error) const {
  return verdict_of(job::Outcome::failed(error.text), host(), process);
}

job::Verdict Conduct::stopped_verdict(int signal) const {
  return verdict_of(job::Outcome::stopped(signal), host(), "train");
}

}  // namespace muster::calls
