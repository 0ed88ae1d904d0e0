#include "toolkit/lead.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "job/message.h"
#include "launch/rsh_agent.h"
#include "toolkit/messages.h"

namespace muster::toolkit {
namespace {
constexpr Duration end_slack = std::chrono::milliseconds(1500);  ///< For KILL to be carried out.
}

/// A launcher's daemon on some host, and the agent of mpirun that waits for its end.
struct Lead::Daemon {
  std::string host;
  AgentCall call;
  std::unique_ptr<Writer> out, err;  ///< The agent's; copies of mpirun's own.
};

Lead::Lead(HostContext context) : Conduct(std::move(context)), changed_(context_.loop) {}

loop::Task<job::Verdict> Lead::run() {
  Result<void> ready;
  if (!leads_alone()) ready = co_await gather();
  if (ready && stop_signal_ == 0) ready = start();
  job::Verdict verdict;
  if (stop_signal_ != 0 && !started_)
    verdict = stopped_verdict(stop_signal_);
  else if (!ready)
    verdict = failed_here("", ready.error());
  else
    verdict = co_await watch();
  co_await end(verdict);
  co_return verdict;
}

loop::Task<Result<void>> Lead::gather() {
  const TrainOptions& options = context_.options;
  coordinate::Leader::Options roll_call;
  roll_call.job = context_.training.job_name;
  roll_call.host = host();
  roll_call.hosts = context_.training.hosts;
  roll_call.port = options.port;
  roll_call.key = context_.key;
  roll_call.join_deadline = options.join_deadline;
  roll_call.heartbeat = options.heartbeat;
  roll_call.lost_after = options.lost_after;
  Result<std::unique_ptr<coordinate::Leader>> leader =
      coordinate::Leader::open(context_.loop, std::move(roll_call), context_.log);
  if (!leader) co_return leader.error().in("roll call");
  leader_ = *std::move(leader);
  leader_->on_frame([this](const std::string& from, Frame frame) { on_frame(from, frame); });
  leader_->on_lost([this](const std::string& lost, const std::string& how) {
    draining_.erase(lost);
    scripts_running_.erase(lost);
    job::Verdict verdict;
    verdict.outcome = job::Outcome::lost(how);
    verdict.host = lost;
    verdict.process = "host";
    add_failure(std::move(verdict));
  });
  co_return co_await leader_->gather();
}

Result<void> Lead::start() {
  started_ = true;
  for (const std::string& name : context_.training.hosts)
    if (name != host()) draining_.insert(name);
  if (context_.plan.launcher == launch::Launcher::process) return start_script();
  return start_launcher();
}

Result<void> Lead::start_script() {
  scripts_running_.insert(context_.training.hosts.begin(), context_.training.hosts.end());
  return start_program([this](job::Verdict verdict) {
    scripts_running_.erase(host());
    on_outcome(std::move(verdict));
  });
}

Result<void> Lead::start_launcher() {
  Result<void> coming = let_ranks_come(
      [this](job::Lines lines) { return context_.output.lines(host(), std::move(lines)); },
      [this](job::Verdict verdict) { on_outcome(std::move(verdict)); },
      [this](AgentCall call) { on_agent(std::move(call)); });
  if (!coming) return coming;
  CHECK_THAT(context_.plan.launcher_command.has_value(), "the leader's plan has the launcher");
  launcher_running_ = true;
  Command command = *context_.plan.launcher_command;
  command.env["MUSTER_AGENT"] = "1";
  return start_launcher_program(
      std::move(command),
      [this](job::Lines lines) { return context_.output.launcher_lines(std::move(lines)); },
      [this](job::Verdict verdict) {
        launcher_running_ = false;
        launcher_ended_well_ = verdict.success();
        add_failure(std::move(verdict));
      });
}

loop::Task<job::Verdict> Lead::watch() {
  while (true) {
    if (std::optional<job::Verdict> verdict = verdict_now(Clock::now())) co_return *verdict;
    co_await changed_.wait_until(next_look());
  }
}

std::optional<job::Verdict> Lead::verdict_now(TimePoint now) const {
  const bool mpi = context_.plan.launcher == launch::Launcher::mpi;
  const bool all_ended = mpi ? !launcher_running_ : scripts_running_.empty();
  if (all_ended && !cause_.failing()) return job::Verdict{};
  // After a stop request what fails is its consequence.
  if (stop_signal_ == 0) return cause_.decide(now);
  if (all_ended || now >= stop_by_) return stopped_verdict(stop_signal_);
  return std::nullopt;
}

TimePoint Lead::next_look() const {
  if (stop_signal_ != 0) return stop_by_;
  return cause_.next_deadline().value_or(TimePoint::max());
}

void Lead::add_failure(job::Verdict verdict) {
  if (!ending_) cause_.add(std::move(verdict), Clock::now());
  changed_.notify();
}

void Lead::on_outcome(job::Verdict verdict) {
  if (!ending_) context_.output.ended(verdict);
  add_failure(std::move(verdict));
}

void Lead::stop(int signal) {
  const bool again = signalled_;
  signalled_ = true;
  stop_all({signal, again ? Duration() : context_.options.stop_grace});
}

void Lead::stop_all(const SignalRequest& request) {
  // A platform that stops a job signals every host: that is one request. Without grace it is new.
  if (ending_ || (stop_signal_ != 0 && request.grace != Duration())) return;
  stop_signal_ = request.signal;
  stop_by_ = Clock::now() + request.grace + end_slack;
  if (leader_ && !started_)
    leader_->cancel(host() + " was stopped by " + job::signal_name(request.signal));
  if (leader_ && started_)
    leader_->post_all(job::type_of(job::Message::signal), signal_text(SIGTERM, request.grace));
  context_.host_run.stop(SIGTERM, request.grace);
  changed_.notify();
}

loop::Task<> Lead::end(const job::Verdict& verdict) {
  ending_ = true;
  const Duration grace = verdict.success() ? Duration() : context_.options.failure_grace;
  const TimePoint deadline = Clock::now() + grace + end_slack;
  if (leader_ && started_) {
    leader_->post_all(job::type_of(job::Message::drain), grace_text(grace));
  }
  daemons_.clear();  // With our copies of mpirun's output, or that would never end.
  co_await context_.host_run.finish(grace);
  if (!leader_) co_return;
  while (!draining_.empty() && Clock::now() < deadline) co_await changed_.wait_until(deadline);
  leader_->expect_end();
  leader_->post_all(job::type_of(job::Message::end), to_text(job::to_json(verdict)));
  co_await leader_->ended(Clock::now() + std::chrono::milliseconds(500));
  leader_->close();
}

void Lead::on_frame(const std::string& from, const Frame& frame) {
  switch (static_cast<job::Message>(frame.type)) {
    case job::Message::lines:
      return on_lines(from, frame, true);
    case job::Message::exec_output:
      return on_lines(from, frame, false);
    case job::Message::exec_end:
      return on_exec_end(from, frame);
    case job::Message::drained:
      draining_.erase(from);
      return changed_.notify();
    case job::Message::signal:
      return stop_all(signal_from(frame.payload));
    case job::Message::outcome: {
      Result<job::Verdict> verdict = verdict_from_text(frame.payload);
      if (!verdict) return context_.log.warning(from + ": " + verdict.error().text);
      verdict->host = from;
      if (context_.plan.launcher == launch::Launcher::process) scripts_running_.erase(from);
      return add_failure(*std::move(verdict));
    }
    default:
      context_.log.warning(from + ": unexpected message " + std::to_string(frame.type));
  }
}

void Lead::on_lines(const std::string& from, const Frame& frame, bool user) {
  Result<job::Lines> lines = job::lines_from(frame.payload);
  if (!lines) return context_.log.warning(from + ": " + lines.error().text);
  if (user) {
    context_.output.post_lines(from, *lines);
    if (held_.insert(from).second) context_.loop.spawn(release_when_read(from));
    return;
  }
  const auto daemon = daemons_.find(lines->rank);
  if (daemon == daemons_.end()) return;
  (lines->stream == job::Stream::err ? daemon->second->err : daemon->second->out)
      ->post(lines->bytes);
}

loop::Task<> Lead::release_when_read(std::string from) {
  // Nearly always there is room at once, and the member is not held at all.
  if (context_.output.behind()) {
    leader_->hold(from, true);
    co_await context_.output.room();
    leader_->hold(from, false);
  }
  held_.erase(from);
}

void Lead::on_agent(AgentCall call) {
  Result<Command> command = launch::agent_command(call.text, context_.plan.launcher_command->env);
  if (!command) return call.reply(1, command.error().text);
  const bool known =
      std::count(context_.training.hosts.begin(), context_.training.hosts.end(), call.host) > 0;
  if (!known) return call.reply(1, call.host + " is not a host of this job");
  const int id = ++daemons_made_;
  auto daemon = std::make_shared<Daemon>();
  daemon->host = call.host;
  daemon->out = std::make_unique<Writer>(context_.loop, std::move(call.out));
  daemon->err = std::make_unique<Writer>(context_.loop, std::move(call.err));
  daemon->call = std::move(call);
  daemons_.emplace(id, daemon);
  if (daemon->host != host())
    return leader_->post(daemon->host, job::type_of(job::Message::exec),
                         exec_text({id, daemon->call.text}));
  const Result<void> done = start_launcher_program(
      *std::move(command),
      [this](job::Lines lines) { return context_.output.launcher_lines(std::move(lines)); },
      [this, daemon](job::Verdict verdict) {
        daemon->call.reply(job::exit_code(verdict.outcome), {});
        add_failure(std::move(verdict));
      });
  if (!done) daemon->call.reply(1, done.error().text);
}

void Lead::on_exec_end(const std::string& from, const Frame& frame) {
  Result<ExecEnd> end = exec_end_from(frame.payload);
  if (!end) return context_.log.warning(from + ": " + end.error().text);
  const auto daemon = daemons_.find(end->id);
  if (daemon == daemons_.end()) return;
  daemon->second->call.reply(job::exit_code(end->outcome), end->outcome.text);
  daemons_.erase(daemon);
  job::Verdict verdict;
  verdict.outcome = end->outcome;
  verdict.host = from;
  verdict.process = "orted";
  add_failure(std::move(verdict));
}

}  // namespace muster::toolkit
