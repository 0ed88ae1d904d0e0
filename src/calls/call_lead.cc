#include "calls/call_lead.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "calls/call_share.h"
#include "calls/conduct.h"
#include "calls/ssh_transport.h"
#include "launch/rsh_agent.h"

namespace muster::calls {

using job::Message;

namespace {
constexpr Duration say_missing_every = std::chrono::seconds(10);
constexpr Duration drain_slack = std::chrono::milliseconds(1500);  ///< For KILL to be carried out.
}  // namespace

/// A launcher's daemon on some host, and the agent of mpirun that waits for its end.
struct CallLead::Daemon {
  std::string name;  ///< "orted"
  std::string host;
  ranks::AgentCall call;
  std::unique_ptr<Writer> out, err;  ///< The agent's; copies of mpirun's own.
};

CallLead::CallLead(HostContext& context, Post post)
    : context_(context), post_(std::move(post)), changed_(context.loop) {}

// --- gathering ---

Result<void> CallLead::call(launch::Call call, launch::CallEnd on_end, bool whole_job) {
  if (own_)
    return fail(Errc::closed, own_->name + " runs already on this host; one call at a time, and " +
                                  "none inside a rank");
  launch::HostCall own{call.name, call.digest, call.data};
  own_ = std::move(call);
  on_end_ = std::move(on_end);
  whole_job_ = whole_job;
  came(context_.training.current_host, std::move(own));
  return {};
}

void CallLead::member_calls(const std::string& host, launch::HostCall call) {
  came(host, std::move(call));
}

void CallLead::came(const std::string& host, launch::HostCall call) {
  if (closed_) return;
  came_[host] = std::move(call);
  if (phase_ == Phase::idle) {
    phase_ = Phase::gathering;
    context_.loop.spawn(say_who_is_missing());
  }
  begin_if_complete();
}

void CallLead::begin_if_complete() {
  if (phase_ != Phase::gathering) return;
  if (!own_) {
    // Which hosts must call stands in this host's own call.
    const std::string& self = context_.training.current_host;
    const auto left = gone_.find(self);
    if (left != gone_.end()) fail_call(self, left->second);
    return;
  }
  const launch::HostCall& first = came_.at(context_.training.current_host);
  for (const auto& [host, call] : came_) {
    if (std::find(own_->hosts.begin(), own_->hosts.end(), host) == own_->hosts.end())
      return fail_call(host, "calls " + call.name + ", but takes no part in the distribution");
    if (call.digest != first.digest)
      return fail_call(host, "calls " + call.name + ", but " + context_.training.current_host +
                                 " calls " + first.name + "; every host must make the same call");
  }
  for (const std::string& host : own_->hosts)
    if (const auto left = gone_.find(host); left != gone_.end() && !came_.contains(host))
      return fail_call(host, left->second + " without calling " + own_->name);
  if (missing().empty()) begin();
}

std::string CallLead::missing() const {
  Args names;
  if (!own_) return context_.training.current_host;
  for (const std::string& host : own_->hosts)
    if (!came_.contains(host)) names.push_back(host);
  return join(names, ", ");
}

loop::Task<> CallLead::say_who_is_missing() {
  TimePoint say_at = Clock::now() + say_missing_every;
  while (phase_ == Phase::gathering && !closed_) {
    co_await changed_.wait_until(say_at);
    if (Clock::now() < say_at || phase_ != Phase::gathering || closed_) continue;
    say_at = Clock::now() + say_missing_every;
    context_.log.info(came_.begin()->second.name + " waits for " + missing() + " to call it too");
  }
}

void CallLead::gone(const std::string& host, const std::string& how) {
  gone_[host] = how;
  begin_if_complete();
}

// --- running ---

void CallLead::begin() {
  if (own_->kind == launch::Call::Kind::exchange) {
    launch::CallResult result;
    for (const auto& [host, call] : came_) result.data[host] = call.data;
    return answer(result);
  }
  phase_ = Phase::running;
  cause_ = coordinate::FirstCause();
  launcher_running_ = own_->kind == launch::Call::Kind::mpi;
  deciding_.clear();
  if (own_->kind == launch::Call::Kind::direct)
    deciding_.insert(own_->hosts.begin(), own_->hosts.end());
  const std::string self = context_.training.current_host;
  ShareEnds ends;
  ends.lines = [this, self](job::Lines lines) {
    return context_.output.lines(self, std::move(lines));
  };
  ends.ended = [this](job::Verdict verdict) { ended(std::move(verdict)); };
  ends.done = [this, self] { host_done(self); };
  post_members(Message::call_start, "{}");
  begin_share(context_, *own_, std::move(ends));
  if (launcher_running_) context_.loop.spawn(launch());
  context_.loop.spawn(watch());
}

loop::Task<> CallLead::launch() {
  const std::string name = own_->name;
  Result<void> done;
  if (own_->by_ssh) done = co_await reach_by_ssh();
  if (closed_ || phase_ != Phase::running) co_return;
  if (done) done = start_launcher();
  if (done) co_return;
  launcher_running_ = false;
  job::Verdict verdict;
  verdict.host = context_.training.current_host;
  verdict.process = name;
  verdict.outcome = job::Outcome::failed(done.error().text);
  ended(std::move(verdict));
}

loop::Task<Result<void>> CallLead::reach_by_ssh() {
  const Args hosts = own_->hosts;
  const TimePoint deadline = Clock::now() + context_.options.join_deadline;
  Result<void> reached = co_await wait_for_ssh(context_.loop, hosts, ssh_port, deadline);
  co_return reached;
}

Result<void> CallLead::start_launcher() {
  if (!own_->launcher)
    return fail(Errc::invalid_input, own_->name + " has no launcher on " + own_->hosts.front());
  ranks::HostRun::Program program;
  program.command = *own_->launcher;
  program.command.env["MUSTER_AGENT"] = "1";
  program.command.env["MUSTER_SOCKET"] = context_.host_run.socket_path();
  const std::string& path = program.command.argv.front();
  program.name = path.substr(path.rfind('/') + 1);
  program.sink = [this](job::Lines lines) {
    return context_.output.launcher_lines(std::move(lines));
  };
  program.on_end = [this](job::Verdict verdict) {
    launcher_running_ = false;
    ended(std::move(verdict));
  };
  return context_.host_run.start(std::move(program));
}

void CallLead::ended(job::Verdict verdict) {
  if (phase_ == Phase::gathering && !verdict.success())
    return fail_call(verdict.host, job::describe(verdict.outcome));
  if (phase_ == Phase::running) cause_.add(std::move(verdict), Clock::now());
  changed_.notify();
}

void CallLead::stop() {
  stopping_ = true;
  changed_.notify();
}

void CallLead::close() {
  closed_ = true;
  daemons_.clear();  // With our copies of mpirun's output, or that would never end.
  changed_.notify();
}

std::optional<job::Verdict> CallLead::verdict_now(TimePoint now) const {
  const bool all_ended = !launcher_running_ && deciding_.empty();
  if (all_ended && !cause_.failing()) return job::Verdict{};
  if (!stopping_) return cause_.decide(now);
  if (!all_ended) return std::nullopt;
  return cause_.decide(TimePoint::max());
}

loop::Task<> CallLead::watch() {
  std::optional<job::Verdict> verdict;
  while (!closed_ && !verdict) {
    verdict = verdict_now(Clock::now());
    if (verdict) break;
    const TimePoint look_again =
        stopping_ ? TimePoint::max() : cause_.next_deadline().value_or(TimePoint::max());
    co_await changed_.wait_until(look_again);
  }
  if (!closed_) co_await finish(*verdict);
}

loop::Task<> CallLead::finish(job::Verdict verdict) {
  phase_ = Phase::ending;
  if (!whole_job_) {
    const Duration grace = verdict.success() ? Duration() : context_.options.failure_grace;
    for (const std::string& host : own_->hosts)
      if (host != context_.training.current_host) draining_.insert(host);
    post_members(Message::call_drain, ranks::grace_text(grace));
    daemons_.clear();
    const TimePoint deadline = Clock::now() + grace + drain_slack;
    co_await context_.host_run.finish_call(grace);
    while (!closed_ && !draining_.empty() && Clock::now() < deadline)
      co_await changed_.wait_until(deadline);
  }
  if (!closed_) answer({verdict, {}});
}

void CallLead::fail_call(const std::string& host, const std::string& why) {
  job::Verdict verdict;
  verdict.host = host;
  verdict.process = "host";
  verdict.outcome = job::Outcome::failed(why);
  answer({verdict, {}});
}

void CallLead::answer(const launch::CallResult& result) {
  last_failure_.reset();
  if (!result.verdict.success()) last_failure_ = result.verdict;
  for (const auto& [host, call] : came_)
    if (host != context_.training.current_host)
      post_(host, Message::call_end, launch::call_result_text(result));
  phase_ = Phase::idle;
  draining_.clear();
  came_.clear();
  own_.reset();
  changed_.notify();
  const launch::CallEnd on_end = std::exchange(on_end_, nullptr);
  if (on_end) on_end(result);
}

void CallLead::post_members(Message type, std::string_view payload) {
  for (const std::string& host : own_->hosts)
    if (host != context_.training.current_host) post_(host, type, payload);
}

void CallLead::host_done(const std::string& host) {
  deciding_.erase(host);
  changed_.notify();
}

void CallLead::member_drained(const std::string& host) {
  draining_.erase(host);
  changed_.notify();
}

// --- daemons ---

void CallLead::agent(ranks::AgentCall call) {
  if (phase_ != Phase::running) return call.reply(1, "no launch is under way");
  Result<Command> command = launch::agent_command(call.text, own_->launcher->env);
  if (!command) return call.reply(1, command.error().text);
  if (std::count(own_->hosts.begin(), own_->hosts.end(), call.host) == 0)
    return call.reply(1, call.host + " is not a host of this job");
  const int id = ++daemons_made_;
  auto daemon = std::make_shared<Daemon>();
  const std::string& path = command->argv.front();
  daemon->name = path.substr(path.rfind('/') + 1);
  daemon->host = call.host;
  daemon->out = std::make_unique<Writer>(context_.loop, std::move(call.out));
  daemon->err = std::make_unique<Writer>(context_.loop, std::move(call.err));
  daemon->call = std::move(call);
  daemons_.emplace(id, daemon);
  if (daemon->host != context_.training.current_host)
    return post_(daemon->host, Message::exec, ranks::exec_text({id, daemon->call.text}));
  ranks::HostRun::Program program;
  program.name = daemon->name;
  program.command = *std::move(command);
  program.command.env["MUSTER_SOCKET"] = context_.host_run.socket_path();
  program.sink = [this](job::Lines lines) {
    return context_.output.launcher_lines(std::move(lines));
  };
  program.on_end = [this, daemon](job::Verdict verdict) {
    daemon->call.reply(job::exit_code(verdict.outcome), {});
    ended(std::move(verdict));
  };
  const Result<void> done = context_.host_run.start(std::move(program));
  if (!done) daemon->call.reply(1, done.error().text);
}

void CallLead::member_output(const Frame& frame) {
  const Result<job::Lines> lines = job::lines_from(frame.payload);
  if (!lines) return context_.log.warning(lines.error().text);
  const auto daemon = daemons_.find(lines->rank);
  if (daemon == daemons_.end()) return;
  (lines->stream == job::Stream::err ? daemon->second->err : daemon->second->out)
      ->post(lines->bytes);
}

void CallLead::member_daemon_ended(const std::string& host, const Frame& frame) {
  Result<ranks::ExecEnd> end = ranks::exec_end_from(frame.payload);
  if (!end) return context_.log.warning(host + ": " + end.error().text);
  const auto daemon = daemons_.find(end->id);
  if (daemon == daemons_.end()) return;
  job::Verdict verdict;
  verdict.outcome = end->outcome;
  verdict.host = host;
  verdict.process = daemon->second->name;
  daemon->second->call.reply(job::exit_code(end->outcome), end->outcome.text);
  daemons_.erase(daemon);
  ended(std::move(verdict));
}

}  // namespace muster::calls
