#include "host/calls/call_lead.h"

#include <algorithm>
#include <utility>

#include "host/calls/call_share.h"
#include "host/calls/conduct.h"
#include "host/calls/ssh_transport.h"
#include "host/ranks/rsh_agent.h"

namespace muster::calls {

using job::Message;

/// How long the end of an agent waits for an mpirun that does not read.
constexpr Duration last_words_wait = std::chrono::seconds(1);

/// A launcher's daemon on some host, and the agent of mpirun that waits for its end.
struct CallLead::Daemon {
  Number number = 0;  ///< The call's.
  std::string name;   ///< "orted"
  std::string host;
  ranks::AgentCall call;
  std::unique_ptr<Writer> out, err;  ///< The agent's; copies of mpirun's own.

  void write(const job::Lines& lines) const {
    (lines.stream == job::Stream::err ? err : out)->post(lines.bytes);
  }
  bool behind() const { return out->behind() || err->behind(); }
  loop::Task<> room() const {
    co_await out->room();
    co_await err->room();
  }
  void give_up() const {
    out->give_up();
    err->give_up();
  }
};

CallLead::CallLead(HostContext& context, Post post)
    : context_(context),
      post_(std::move(post)),
      course_(
          {.host = context.training.current_host, .failure_grace = context.options.failure_grace}),
      moved_(context.loop),
      tasks_(context.loop) {
  tasks_.start(keep_time());
}

const std::string& CallLead::self() const {
  return context_.training.current_host;
}

// --- events ---

Result<void> CallLead::call(launch::Call call, launch::CallEnd on_end, bool whole_job) {
  TRY(course_.call(std::move(call), whole_job, Clock::now()));
  on_end_ = std::move(on_end);
  turn();
  return {};
}

void CallLead::member_calls(const std::string& host, launch::HostCall call) {
  course_.member_calls(host, std::move(call), Clock::now());
  turn();
}

void CallLead::gone(const std::string& host) {
  course_.gone(host);
  turn();
}

void CallLead::lost(const std::string& host) {
  course_.lost(host, Clock::now());
  turn();
}

void CallLead::ended(job::Verdict verdict) {
  course_.ended(std::move(verdict), Clock::now());
  turn();
}

void CallLead::restarts(job::Verdict verdict) {
  course_.restarts(std::move(verdict), Clock::now());
  turn();
}

void CallLead::host_done(const std::string& host) {
  course_.done(host, Clock::now());
  turn();
}

void CallLead::member_drained(const std::string& host) {
  course_.drained(host);
  turn();
}

void CallLead::stop() {
  course_.stop(Clock::now());
  turn();
}

void CallLead::close() {
  course_.close();
  give_up_daemons();
}

// --- actions ---

void CallLead::turn() {
  if (in_turn_) return;  // Events caused by an action are handled after it.
  in_turn_ = true;
  for (std::vector<Action> actions = course_.take_actions(); !actions.empty();
       actions = course_.take_actions())
    for (const Action& action : actions) carry_out(action);
  in_turn_ = false;
  moved_.notify();
}

loop::Task<> CallLead::keep_time() {
  while (true) {
    co_await moved_.wait_until(course_.next_deadline().value_or(TimePoint::max()));
    course_.step(Clock::now());
    turn();
  }
}

void CallLead::carry_out(const Action& action) {
  switch (action.kind) {
    case Action::Kind::begin:
      return begin(action);
    case Action::Kind::launch:
      return tasks_.start(launch(action.number));
    case Action::Kind::release:
      post_members(action.hosts, Message::call_done, "{}");
      return context_.host_run.release_ranks();
    case Action::Kind::drain:
      post_members(action.hosts, Message::call_drain, ranks::grace_text(action.grace));
      give_up_daemons();
      return tasks_.start(drain(action.grace));
    case Action::Kind::answer:
      return answer(action);
    case Action::Kind::say:
      return context_.log.info(action.text);
  }
}

void CallLead::post_members(const Args& hosts, Message type, std::string_view payload) {
  for (const std::string& host : hosts)
    if (host != self()) post_(host, type, payload);
}

void CallLead::begin(const Action& action) {
  const Number number = action.number;
  ShareEnds ends;
  ends.lines = [this](job::Lines lines) { return context_.output.lines(self(), std::move(lines)); };
  ends.ended = [this, number](job::Verdict verdict) {
    course_.ended_here(number, std::move(verdict), Clock::now());
    turn();
  };
  ends.restarts = [this, number](job::Verdict verdict) {
    course_.restarts_here(number, std::move(verdict), Clock::now());
    turn();
  };
  ends.done = [this, number] {
    course_.done_here(number, Clock::now());
    turn();
  };
  post_members(action.hosts, Message::call_start, "{}");
  const launch::Call call = *course_.own();  // Programs that cannot start may end the call at once.
  begin_share(context_, call, std::move(ends));
}

loop::Task<> CallLead::launch(Number number) {
  if (!course_.runs(number)) co_return;
  const launch::Call call = *course_.own();
  Result<void> done;
  if (call.by_ssh) {
    const TimePoint deadline = Clock::now() + context_.options.join_deadline;
    done = co_await wait_for_ssh(context_.loop, call.hosts, ssh_port, deadline);
  }
  if (!course_.runs(number)) co_return;
  if (done) done = start_launcher(number);
  if (done) co_return;
  job::Verdict verdict = verdict_of(job::Outcome::failed(done.error().text), self(), call.name);
  course_.launcher_ended(number, std::move(verdict), Clock::now());
  turn();
}

Result<void> CallLead::start_launcher(Number number) {
  const launch::Call& call = *course_.own();
  if (!call.launcher)
    return fail(Errc::invalid_input,
                call.name + " did not provide a launcher command on " + call.hosts.front());
  ranks::HostRun::Program program = launcher_program(context_, *call.launcher);
  program.command.env["MUSTER_AGENT"] = std::string("1");  // GCC 12 sees an overlap in = "1".
  // MPICH's mpirun writes to daemons that may have exited already, and handles the error.
  program.ignore_sigpipe = true;
  program.sink = [this](job::Lines lines) {
    return context_.output.launcher_lines(std::move(lines));
  };
  program.on_end = [this, number](job::Verdict verdict) {
    course_.launcher_ended(number, std::move(verdict), Clock::now());
    turn();
  };
  return context_.host_run.start(std::move(program));
}

loop::Task<> CallLead::drain(Duration grace) {
  co_await context_.host_run.finish_call(grace);
  course_.drained(self());
  turn();
}

/// Our copies of mpirun's output close at once, or it would never end. The agents of other hosts'
/// daemons wait for the answer: if they ended earlier, mpirun would report its daemons as dead.
void CallLead::give_up_daemons() {
  for (const auto& [id, daemon] : daemons_) {
    if (daemon->host != self()) left_.push_back(daemon->call.reply);
    daemon->give_up();
  }
  daemons_.clear();
}

void CallLead::answer(const Action& action) {
  for (const ranks::AgentCall::Reply& reply : std::exchange(left_, {})) reply(1, {});
  post_members(action.hosts, Message::call_end, launch::call_result_text(action.result));
  if (std::find(action.hosts.begin(), action.hosts.end(), self()) == action.hosts.end()) return;
  const launch::CallEnd on_end = std::exchange(on_end_, nullptr);
  if (on_end) on_end(action.result);
}

// --- daemons ---

void CallLead::agent(ranks::AgentCall call) {
  if (const std::optional<std::string> refused = course_.refusal(call.host))
    return call.reply(1, *refused);
  const launch::Call& own = *course_.own();
  const Command& launcher = *own.launcher;
  Result<Command> command =
      own.by_ssh ? Command{{"ssh", "-x", call.host, call.text}, launcher.env, launcher.cwd}
                 : launch::agent_command(call.text, launcher.env);
  if (!command) return call.reply(1, command.error().text);
  const int id = ++daemons_made_;
  auto daemon = std::make_shared<Daemon>();
  ranks::HostRun::Program program = launcher_program(context_, *std::move(command));
  daemon->number = course_.number();
  daemon->name = program.name;
  daemon->host = call.host;
  daemon->out = std::make_unique<Writer>(context_.loop, std::move(call.out));
  daemon->err = std::make_unique<Writer>(context_.loop, std::move(call.err));
  daemon->call = std::move(call);
  daemons_.emplace(id, daemon);
  if (own.by_ssh) return open_session(id, daemon, std::move(program));
  if (daemon->host != self())
    return post_(daemon->host, Message::exec, ranks::exec_text({id, daemon->call.text}));
  const Result<void> started = start_daemon(daemon, std::move(program));
  if (!started) daemon->call.reply(1, started.error().text);
}

Result<void> CallLead::start_daemon(const std::shared_ptr<Daemon>& daemon,
                                    ranks::HostRun::Program program) {
  program.sink = [this](job::Lines lines) {
    return context_.output.launcher_lines(std::move(lines));
  };
  program.on_end = [this, daemon](job::Verdict verdict) {
    daemon->call.reply(job::exit_code(verdict.outcome), {});
    course_.ended_here(daemon->number, std::move(verdict), Clock::now());
    turn();
  };
  return context_.host_run.start(std::move(program));
}

/// The session's output and end reach mpirun as if it had called ssh itself. That ssh failed is for
/// mpirun to say.
void CallLead::open_session(int id, const std::shared_ptr<Daemon>& daemon,
                            ranks::HostRun::Program program) {
  program.sink = [daemon](const job::Lines& lines) -> loop::Task<> {
    daemon->write(lines);
    co_await daemon->room();
  };
  program.on_end = [this, id](const job::Verdict& verdict) {
    const std::shared_ptr<Daemon> ended = release_daemon(id, verdict.outcome);
    if (!ended) return;
    course_.session_ended(ended->number, ended->host, verdict.outcome, Clock::now());
    turn();
  };
  course_.session_begins(daemon->host);
  const Result<void> started = context_.host_run.start(std::move(program));
  if (!started) daemon->call.reply(1, started.error().text);
}

void CallLead::member_output(const Frame& frame) {
  const Result<job::Lines> lines = job::lines_from(frame.payload);
  if (!lines) return context_.log.warning(lines.error().text);
  const auto daemon = daemons_.find(lines->rank);
  if (daemon != daemons_.end()) daemon->second->write(*lines);
}

std::shared_ptr<CallLead::Daemon> CallLead::slow_daemon() const {
  for (const auto& [id, daemon] : daemons_)
    if (daemon->behind()) return daemon;
  return nullptr;
}

loop::Task<> CallLead::room() {
  for (auto daemon = slow_daemon(); daemon; daemon = slow_daemon()) co_await daemon->room();
}

void CallLead::member_daemon_ended(const std::string& host, const Frame& frame) {
  Result<ranks::ExecEnd> end = ranks::exec_end_from(frame.payload);
  if (!end) return context_.log.warning(host + ": " + end.error().text);
  const std::shared_ptr<Daemon> daemon = release_daemon(end->id, end->outcome);
  if (daemon) ended(verdict_of(end->outcome, host, daemon->name));
}

/// Null after a drain, whose answer releases the agents.
std::shared_ptr<CallLead::Daemon> CallLead::release_daemon(int id, const job::Outcome& outcome) {
  const auto found = daemons_.find(id);
  if (found == daemons_.end()) return nullptr;
  std::shared_ptr<Daemon> daemon = std::move(found->second);
  daemons_.erase(found);
  tasks_.start(let_go(daemon, job::exit_code(outcome), outcome.text));
  return daemon;
}

/// A daemon's last output must reach mpirun before its agent ends, because mpirun treats the
/// agent's end as the daemon's. Often both arrive together.
loop::Task<> CallLead::let_go(std::shared_ptr<Daemon> daemon, int code, std::string why) {
  const TimePoint deadline = Clock::now() + last_words_wait;
  co_await daemon->out->flushed(deadline);
  co_await daemon->err->flushed(deadline);
  daemon->give_up();
  daemon->call.reply(code, why);
}

}  // namespace muster::calls
