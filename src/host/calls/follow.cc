#include "host/calls/follow.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "host/calls/call_share.h"
#include "host/ranks/messages.h"
#include "host/ranks/rsh_agent.h"
#include "job/wire/message.h"

namespace muster::calls {

using job::Message;
using job::type_of;

Follow::Follow(HostContext context)
    : Conduct(std::move(context)), changed_(context_.loop), tasks_(context_.loop) {}

loop::Task<job::Verdict> Follow::run() {
  Result<void> joined = open_socket();
  if (joined) joined = co_await join();
  if (!joined && stop_signal_ != 0) co_return stopped_verdict(stop_signal_);
  if (!joined) co_return failed_here("", joined.error());
  joined_ = true;
  while (!verdict_) co_await changed_.wait();
  // The leader ends hosts by drain, then end; without a leader we end this one ourselves.
  co_await context_.host_run.finish(leader_lost_ ? context_.options.failure_grace : Duration());
  member_->close();
  co_return *verdict_;
}

loop::Task<Result<void>> Follow::join() {
  auto options = roll_call<coordinate::Member::Options>();
  options.leader = context_.training.leader;
  Result<std::unique_ptr<coordinate::Member>> member =
      coordinate::Member::open(context_.loop, std::move(options), context_.log);
  if (!member) co_return member.error().in("roll call");
  member_ = *std::move(member);
  member_->on_frame([this](const Frame& frame) { on_frame(frame); });
  member_->on_lost([this](const std::string& how) {
    leader_lost_ = true;
    settle(verdict_of(job::Outcome::lost(how), context_.training.leader, "host"));
  });
  Result<void> joined = co_await member_->join();
  if (joined) context_.output.mark(job::Mark::joined);
  co_return joined;
}

ranks::HostRun::Sink Follow::user_sink() {
  if (context_.output.has_steward())
    return [this](job::Lines lines) { return context_.output.lines(host(), std::move(lines)); };
  return [this](job::Lines lines) -> loop::Task<> {
    member_->post(type_of(Message::lines), job::encode(lines));
    static_cast<void>(co_await member_->room());
  };
}

void Follow::settle(job::Verdict verdict) {
  if (!verdict_) verdict_ = std::move(verdict);
  changed_.notify();
}

void Follow::on_frame(const Frame& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::start:
      return begin(frame);
    case Message::exec:
      return on_exec(frame);
    case Message::signal: {
      const ranks::SignalRequest request = ranks::signal_from(frame.payload);
      context_.host_run.stop(request.grace);
      return give_up_work(request.signal);
    }
    case Message::drain:
      return tasks_.start(drain(ranks::grace_from(frame.payload)));
    case Message::end: {
      member_->expect_end();
      Result<job::Verdict> verdict = ranks::verdict_from_text(frame.payload);
      return settle(verdict ? *std::move(verdict) : failed_here("", verdict.error()));
    }
    default:
      on_call_frame(frame);
  }
}

void Follow::begin(const Frame& start) {
  context_.output.mark(job::Mark::gathered);
  const PreflightMode mode = mode_in(start.payload);
  if (mode == PreflightMode::off) return tasks_.start(work());
  preflight_.emplace(context_.loop, context_.training, context_.preflight);
  tasks_.start(tell_facts(mode == PreflightMode::full));
}

bool Follow::on_preflight_frame(const Frame& frame) {
  if (!preflight_) return false;
  if (frame.type == type_of(Message::preflight_over)) {
    // Running name look-ups are not ended: ending them would mean waiting for them.
    const bool is_first = !std::exchange(program_may_run_, true);
    preflight_->close();
    if (is_first) tasks_.start(work());
    return true;
  }
  if (frame.type != type_of(Message::preflight_pair)) return false;
  Result<preflight::PairTask> task = preflight::pair_task_from(frame.payload);
  if (task)
    tasks_.start(measure(*std::move(task)));
  else
    context_.log.warning("leader: " + task.error().text);
  return true;
}

loop::Task<> Follow::tell_facts(bool listens) {
  const preflight::HostFacts facts = co_await preflight_->facts(listens);
  member_->post(type_of(Message::preflight_facts), to_text(preflight::to_json(facts)));
}

loop::Task<> Follow::measure(preflight::PairTask task) {
  const std::vector<preflight::PairFacts> ways = co_await preflight_->measure(std::move(task));
  Json told = Json::array();
  for (const preflight::PairFacts& way : ways) told.push_back(preflight::to_json(way));
  member_->post(type_of(Message::preflight_ways), to_text(told));
}

void Follow::on_call_frame(const Frame& frame) {
  if (on_preflight_frame(frame)) return;
  switch (static_cast<Message>(frame.type)) {
    case Message::call_start:
      return begin_call();
    case Message::call_done:
      return context_.host_run.release_ranks();
    case Message::call_drain:
      return tasks_.start(drain_call(ranks::grace_from(frame.payload)));
    case Message::call_end: {
      const Result<launch::CallResult> result = launch::call_result_from(frame.payload);
      own_call_.reset();
      const launch::CallEnd on_end = std::exchange(on_call_end_, nullptr);
      if (on_end)
        on_end(result ? *result : launch::CallResult{failed_here("", result.error()), {}});
      return;
    }
    default:
      context_.log.warning("leader: unexpected message " + std::to_string(frame.type));
  }
}

Result<void> Follow::call(launch::Call made, launch::CallEnd on_end, bool) {
  if (own_call_)
    return fail(Errc::closed, own_call_->name +
                                  " is already running on this host; a host can run only one "
                                  "launcher at a time, and ranks cannot run launchers");
  member_->post(type_of(Message::host_call),
                launch::host_call_text({made.name, made.digest, made.data}));
  own_call_ = std::move(made);
  on_call_end_ = std::move(on_end);
  return {};
}

void Follow::call_gone(job::Verdict verdict) {
  member_->post(type_of(Message::outcome), to_text(job::to_json(verdict)));
}

void Follow::agent(ranks::AgentCall call) {
  call.reply(1, "mpirun runs only on the leader");
}

void Follow::host_ended(job::Verdict verdict) {
  member_->post(type_of(Message::host_end), to_text(job::to_json(verdict)));
}

void Follow::begin_call() {
  if (!own_call_) return;
  ShareEnds ends;
  ends.lines = user_sink();
  const int share = ++share_;
  ends.ended = [this, share](const job::Verdict& verdict) {
    if (share != share_) return;
    member_->post(type_of(Message::outcome), to_text(job::to_json(verdict)));
  };
  ends.restarts = [this, share](const job::Verdict& verdict) {
    if (share != share_) return;
    member_->post(type_of(Message::outcome), ranks::restart_text(verdict));
  };
  ends.done = [this, share] {
    if (share == share_) member_->post(type_of(Message::call_done), "{}");
  };
  begin_share(context_, *own_call_, std::move(ends));
}

loop::Task<> Follow::drain_call(Duration grace) {
  co_await context_.host_run.finish_call(grace);
  ++share_;
  member_->post(type_of(Message::call_drained), "{}");
}

void Follow::on_exec(const Frame& frame) {
  Result<ranks::ExecRequest> request = ranks::exec_from(frame.payload);
  if (!request) return context_.log.warning("leader: " + request.error().text);
  const int id = request->id;
  if (!own_call_) return send_end(id, job::Outcome::failed("no launch is in progress"));
  Result<Command> command = launch::agent_command(request->text, own_call_->rank.command.env);
  if (!command) return send_end(id, job::Outcome::failed(command.error().text));
  ranks::HostRun::Program program = launcher_program(context_, *std::move(command));
  // Each orted repeats the map that mpirun prints on standard output; its other output is on
  // standard error.
  const bool repeats = program.name == "orted";
  program.sink = [this, id, repeats](job::Lines lines) -> loop::Task<> {
    if (repeats && lines.stream == job::Stream::out) co_return;
    lines.rank = id;
    member_->post(type_of(Message::exec_output), job::encode(lines));
    static_cast<void>(co_await member_->room());
  };
  program.on_end = [this, id](const job::Verdict& verdict) { send_end(id, verdict.outcome); };
  const Result<void> started = context_.host_run.start(std::move(program));
  if (!started) send_end(id, job::Outcome::failed(started.error().text));
}

void Follow::send_end(int id, const job::Outcome& outcome) {
  member_->post(type_of(Message::exec_end), ranks::exec_end_text({id, outcome}));
}

loop::Task<> Follow::drain(Duration grace) {
  co_await context_.host_run.finish(grace);
  member_->post(type_of(Message::drained), "{}");
}

void Follow::stop(int signal) {
  const bool again = stop_signal_ != 0;
  stop_signal_ = signal;
  const Duration grace = again ? Duration() : context_.options.stop_grace;
  if (member_) member_->post(type_of(Message::signal), ranks::signal_text(signal, grace));
  context_.host_run.stop(grace);
  if (member_ && !joined_) tasks_.start(leave());
  if (joined_) give_up_work(signal);
}

loop::Task<> Follow::leave() {
  static_cast<void>(co_await member_->flushed(Clock::now() + std::chrono::milliseconds(200)));
  if (!joined_) member_->close();
}

}  // namespace muster::calls
