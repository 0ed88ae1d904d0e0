#include "host/calls/lead.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "host/ranks/messages.h"
#include "job/wire/message.h"
#include "net/sockets/tls.h"

namespace muster::calls {

using job::Message;
using job::type_of;

namespace {
constexpr Duration own_name_max = std::chrono::seconds(5);
constexpr Duration end_slack = std::chrono::milliseconds(1500);  ///< For KILL to be carried out.
}  // namespace

Lead::Lead(HostContext context)
    : Conduct(std::move(context)),
      calls_(context_,
             [this](const std::string& to, Message type, std::string_view payload) {
               if (leader_) leader_->post(to, type_of(type), payload);
             }),
      changed_(context_.loop),
      tasks_(context_.loop) {}

loop::Task<job::Verdict> Lead::run() {
  Result<void> ready = open_socket();
  if (ready && !leads_alone()) ready = co_await gather();
  job::Verdict verdict;
  if (stop_signal_ != 0) {
    verdict = stopped_verdict(stop_signal_);
  } else if (!ready) {
    verdict = failed_here("", ready.error());
  } else {
    start();
    verdict = co_await watch();
  }
  co_await end(verdict);
  co_return verdict;
}

loop::Task<Result<void>> Lead::gather() {
  auto options = roll_call<coordinate::Leader::Options>();
  options.hosts = context_.training.roll_call_hosts();
  options.start = start_text(context_.preflight.mode);
  options.address =
      co_await loop::own_address_of(context_.loop, host(), Clock::now() + own_name_max);
  Result<std::unique_ptr<coordinate::Leader>> leader =
      coordinate::Leader::open(context_.loop, std::move(options), context_.log);
  if (!leader) co_return leader.error().in("roll call");
  leader_ = *std::move(leader);
  leader_->on_frame([this](const std::string& from, Frame frame) { on_frame(from, frame); });
  leader_->on_lost([this](const std::string& lost, const std::string& how) {
    draining_.erase(lost);
    working_.erase(lost);
    calls_.lost(lost);
    if (preflight_) preflight_->lost(lost);
    add_failure(verdict_of(job::Outcome::lost(how), lost, "host"));
  });
  context_.output.mark(job::Mark::joined);
  Result<void> gathered = co_await leader_->gather();
  if (gathered) context_.output.mark(job::Mark::gathered);
  co_return gathered;
}

void Lead::start() {
  started_ = true;
  working_.insert(context_.training.roll_call_hosts().begin(),
                  context_.training.roll_call_hosts().end());
  draining_ = working_;
  draining_.erase(host());
  const bool at_once = leads_alone() || context_.preflight.mode == PreflightMode::off;
  tasks_.start(at_once ? work() : preflight_then_work());
}

loop::Task<> Lead::preflight_then_work() {
  const PreflightLead::Post post = [this](const std::string& to, Message type,
                                          std::string_view payload) {
    leader_->post(to, type_of(type), payload);
  };
  preflight_.emplace(context_.loop, context_.training, context_.preflight, context_.log, post);
  // The engine knows the nodes, and this host's files are deleted with the host.
  if (context_.output.has_steward())
    preflight_->keep_by([this](const std::string& of, const std::string& record) {
      context_.output.health(of, record);
    });
  const Result<void> well = co_await preflight_->run();
  if (!well) refuse_work(failed_here("preflight", well.error()));
  co_await work();
}

Result<void> Lead::call(launch::Call made, launch::CallEnd on_end, bool whole_job) {
  if (ending_) return fail(Errc::closed, "the job is ending");
  whole_job_call_ = whole_job;
  return calls_.call(std::move(made), std::move(on_end), whole_job);
}

void Lead::host_ended(job::Verdict verdict) {
  // The call has already determined its first cause.
  if (whole_job_call_ && !verdict.success() && stop_signal_ == 0) decided_ = verdict;
  one_host_ended(host(), verdict);
}

void Lead::one_host_ended(const std::string& name, const job::Verdict& verdict) {
  working_.erase(name);
  if (verdict.success()) calls_.gone(name);
  // If a program fails because its call failed, the call's own verdict is the first cause.
  const bool of_call = !verdict.success() && calls_.last_failure();
  job::Verdict found = of_call ? *calls_.last_failure() : verdict;
  if (leads_alone() && !of_call) found.blames_peer = false;  // The job has no peers.
  add_failure(std::move(found));
  if (working_.empty()) cause_.all_ended(Clock::now());
}

loop::Task<job::Verdict> Lead::watch() {
  while (true) {
    if (std::optional<job::Verdict> verdict = verdict_now(Clock::now())) co_return *verdict;
    co_await changed_.wait_until(next_look());
  }
}

std::optional<job::Verdict> Lead::verdict_now(TimePoint now) const {
  const bool all_ended = working_.empty();
  // Failures after a stop request are its consequences; earlier ones are not.
  if (stop_signal_ != 0 && (all_ended || now >= stop_by_)) {
    if (decided_) return decided_;
    if (all_ended && !cause_.failing()) return job::Verdict{};
    return stopped_verdict(stop_signal_);
  }
  if (stop_signal_ != 0) return std::nullopt;
  if (decided_) return decided_;
  if (all_ended && !cause_.failing()) return job::Verdict{};
  return cause_.decide(now);
}

TimePoint Lead::next_look() const {
  if (stop_signal_ != 0) return stop_by_;
  return cause_.next_deadline().value_or(TimePoint::max());
}

void Lead::add_failure(job::Verdict verdict) {
  if (!ending_) cause_.add(std::move(verdict), Clock::now());
  changed_.notify();
}

void Lead::stop(int signal) {
  const bool again = signalled_;
  signalled_ = true;
  stop_all({signal, again ? Duration() : context_.options.stop_grace});
}

void Lead::stop_all(const ranks::SignalRequest& request) {
  // A platform that stops a job signals every host: that counts as one request. A request without
  // grace is a new one.
  if (ending_ || (stop_signal_ != 0 && request.grace != Duration())) return;
  if (started_ && stop_signal_ == 0 && !decided_) decided_ = cause_.so_far();
  stop_signal_ = request.signal;
  stop_by_ = Clock::now() + request.grace + end_slack;
  if (leader_ && !started_)
    leader_->cancel(host() + " was stopped by " + job::signal_name(request.signal));
  if (leader_ && started_)
    leader_->post_all(type_of(Message::signal), ranks::signal_text(SIGTERM, request.grace));
  calls_.stop();
  context_.host_run.stop(request.grace);
  if (started_) give_up_work(request.signal);
  changed_.notify();
}

loop::Task<> Lead::end(const job::Verdict& verdict) {
  ending_ = true;
  const Duration grace = verdict.success() ? Duration() : context_.options.failure_grace;
  const TimePoint deadline = Clock::now() + grace + end_slack;
  if (leader_ && started_) leader_->post_all(type_of(Message::drain), ranks::grace_text(grace));
  calls_.close();
  co_await context_.host_run.finish(grace);
  if (!leader_) co_return;
  while (!draining_.empty() && Clock::now() < deadline) co_await changed_.wait_until(deadline);
  leader_->expect_end();
  leader_->post_all(type_of(Message::end), to_text(job::to_json(verdict)));
  co_await leader_->ended(Clock::now() + std::chrono::milliseconds(500));
  leader_->close();
}

void Lead::on_frame(const std::string& from, const Frame& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::lines:
      return on_lines(from, frame);
    case Message::exec_output:
      calls_.member_output(frame);
      return read_on_with_room(from);
    case Message::exec_end:
      return calls_.member_daemon_ended(from, frame);
    case Message::call_done:
      return calls_.host_done(from);
    case Message::call_drained:
      return calls_.member_drained(from);
    case Message::host_call: {
      Result<launch::HostCall> made = launch::host_call_from(frame.payload);
      if (!made) return context_.log.warning(from + ": " + made.error().text);
      return calls_.member_calls(from, *std::move(made));
    }
    default:
      return on_job_frame(from, frame);
  }
}

void Lead::on_job_frame(const std::string& from, const Frame& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::preflight_facts:
      if (preflight_) preflight_->member_facts(from, frame.payload);
      return;
    case Message::preflight_ways:
      if (preflight_) preflight_->member_ways(from, frame.payload);
      return;
    case Message::drained:
      draining_.erase(from);
      return changed_.notify();
    case Message::signal:
      return stop_all(ranks::signal_from(frame.payload));
    case Message::outcome:
    case Message::host_end: {
      Result<job::Verdict> verdict = ranks::verdict_from_text(frame.payload);
      if (!verdict) return context_.log.warning(from + ": " + verdict.error().text);
      if (frame.type == type_of(Message::host_end)) return one_host_ended(from, *verdict);
      verdict->host = from;
      if (ranks::says_restart(frame.payload)) return calls_.restarts(*std::move(verdict));
      return calls_.ended(*std::move(verdict));
    }
    default:
      context_.log.warning(from + ": unexpected message " + std::to_string(frame.type));
  }
}

void Lead::on_lines(const std::string& from, const Frame& frame) {
  const Result<job::Lines> lines = job::lines_from(frame.payload);
  if (!lines) return context_.log.warning(from + ": " + lines.error().text);
  context_.output.post_lines(from, *lines);
  read_on_with_room(from);
}

/// A member's data is not read faster than it is passed on.
void Lead::read_on_with_room(const std::string& from) {
  if (held_.insert(from).second) tasks_.start(release_when_read(from));
}

loop::Task<> Lead::release_when_read(std::string from) {
  // Usually there is room at once, and the member is not held.
  if (context_.output.behind() || calls_.behind()) {
    leader_->hold(from, true);
    co_await context_.output.room();
    co_await calls_.room();
    leader_->hold(from, false);
  }
  held_.erase(from);
}

}  // namespace muster::calls
