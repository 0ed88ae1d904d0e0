#include "host/calls/call_course.h"

#include <algorithm>

#include "base/frame.h"
#include "base/text.h"
#include "job/outcome/rank_tag.h"

namespace muster::calls {
namespace {

/// The longest time in which a process notices a peer's failure and fails because of it.
constexpr Duration recalled_for = std::chrono::seconds(5);
/// Each has the text of its rank's end, up to 1 MiB.
constexpr std::size_t restarting_max = 64;

job::Verdict failed_on(const std::string& host, const std::string& why) {
  job::Verdict verdict;
  verdict.host = host;
  verdict.process = "host";
  verdict.outcome = job::Outcome::failed(why);
  return verdict;
}

}  // namespace

// --- gathering ---

Result<void> CallCourse::call(launch::Call call, bool whole_job, TimePoint now) {
  time_.advance(now);
  if (own_)
    return fail(Errc::closed, own_->name +
                                  " is already running on this host; a host can run only one "
                                  "launcher at a time, and ranks cannot run launchers");
  launch::HostCall own{call.name, call.digest, call.data};
  own_ = std::move(call);
  parts_ = {own_->hosts.begin(), own_->hosts.end()};
  whole_job_ = whole_job;
  came(options_.host, std::move(own), now);
  return {};
}

void CallCourse::member_calls(const std::string& host, launch::HostCall call, TimePoint now) {
  time_.advance(now);
  came(host, std::move(call), now);
}

void CallCourse::came(const std::string& host, launch::HostCall call, TimePoint now) {
  if (closed_) return;
  if (phase_ == Phase::running || phase_ == Phase::ending) {
    if (!takes_part(host)) refuse_outsider(host, call.name);
    return;  // A host of the running call cannot have called again, because it has no answer yet.
  }
  came_[host] = std::move(call);
  if (phase_ == Phase::idle) next_say_ = now + options_.say_missing_every;
  phase_ = Phase::gathering;
  begin_if_complete(host);
}

bool CallCourse::takes_part(const std::string& host) const {
  return own_ && parts_.contains(host);
}

/// Why the call is impossible, given that `host` has called or is gone.
std::optional<std::string> CallCourse::objection(const std::string& host) const {
  const auto called = came_.find(host);
  if (called == came_.end()) {
    if (!gone_.contains(host) || !takes_part(host)) return std::nullopt;
    return "exited without calling " + own_->name;
  }
  const launch::HostCall& call = called->second;
  const launch::HostCall& first = came_.at(options_.host);
  if (!takes_part(host))
    return "calls " + call.name + ", but does not take part in the distribution";
  if (call.digest != first.digest)
    return "calls " + call.name + ", but " + options_.host + " calls " + first.name +
           "; every host must make the same call";
  return std::nullopt;
}

/// `news`: the host that has called or is gone. Earlier hosts were checked at that time, or are
/// checked when this host's own call arrives. So an event does not check all hosts again.
void CallCourse::begin_if_complete(const std::string& news) {
  if (phase_ != Phase::gathering) return;
  // Hosts that gave up their work because of a stop never call.
  if (stopping_) return fail_call(options_.host, "the job was asked to stop");
  if (!own_) {
    // The own call of this host lists the hosts that must call.
    if (gone_.contains(options_.host))
      fail_call(options_.host, "exited without calling " + came_.begin()->second.name);
    return;
  }
  Args looked_at = {news};
  if (news == options_.host) {
    looked_at.clear();
    for (const auto& [host, call] : came_) looked_at.push_back(host);
    looked_at.insert(looked_at.end(), own_->hosts.begin(), own_->hosts.end());
  }
  for (const std::string& host : looked_at)
    if (const std::optional<std::string> why = objection(host)) return fail_call(host, *why);
  if (came_.size() == parts_.size()) begin();
}

void CallCourse::gone(const std::string& host) {
  if (closed_) return;
  gone_.insert(host);
  begin_if_complete(host);
}

Args CallCourse::missing() const {
  Args names;
  if (phase_ == Phase::ending) names.assign(draining_.begin(), draining_.end());
  if (phase_ != Phase::gathering) return names;
  if (!own_) return {options_.host};
  for (const std::string& host : own_->hosts)
    if (!came_.contains(host)) names.push_back(host);
  return names;
}

// --- running ---

void CallCourse::begin() {
  CHECK_THAT(own_, "a call begins when this host has made it, too");
  if (own_->kind == launch::Call::Kind::exchange) {
    launch::CallResult result;
    for (const auto& [host, call] : came_) result.data[host] = call.data;
    const std::size_t bytes = launch::call_result_text(result).size();
    if (bytes > frame_payload_bytes_max)
      return fail_call(options_.host, "the hosts' data has " + std::to_string(bytes) +
                                          " bytes, which exceeds the limit for one response");
    return answer(result);
  }
  phase_ = Phase::running;
  ++number_;
  cause_ = coordinate::FirstCause();
  well_.clear();
  failed_.clear();
  ranks_ended_on_.clear();
  sessions_over_.clear();
  restarting_.clear();
  launcher_running_ = own_->kind == launch::Call::Kind::mpi;
  deciding_.clear();
  if (own_->kind == launch::Call::Kind::direct)
    deciding_.insert(own_->hosts.begin(), own_->hosts.end());
  actions_.push_back({.kind = Action::Kind::begin, .number = number_, .hosts = own_->hosts});
  if (launcher_running_) actions_.push_back({.kind = Action::Kind::launch, .number = number_});
}

std::optional<std::string> CallCourse::refusal(const std::string& host) const {
  if (closed_ || phase_ != Phase::running || !own_->launcher) return "no launch is in progress";
  if (!takes_part(host)) return host + " is not a host of this job";
  return std::nullopt;
}

void CallCourse::ended(job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  // A host that has not called reports about an earlier call.
  if (closed_ || !came_.contains(verdict.host) || verdict.rank > job::tagged_rank_most) return;
  if (phase_ == Phase::gathering && !verdict.success())
    return fail_call(verdict.host, job::describe(verdict.outcome));
  if (phase_ != Phase::running) return;
  if (!verdict.success() && (verdict.blames_peer || verdict.rank < 0)) recall(now);
  if (verdict.rank >= 0) {
    (verdict.success() ? well_ : failed_).insert(verdict.rank);
    ranks_ended_on_.insert(verdict.host);
    sessions_over_.erase(verdict.host);
  }
  if (own_->ranks == 1) verdict.blames_peer = false;  // The job has no other rank.
  cause_.add(std::move(verdict), now);
  look(now);
}

void CallCourse::restarts(job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  if (closed_ || phase_ != Phase::running || !came_.contains(verdict.host)) return;
  well_.clear();  // All ranks of its host run again.
  failed_.clear();
  std::erase_if(restarting_,
                [now](const auto& each) { return now - each.second.first > recalled_for; });
  const int rank = verdict.rank;
  if (restarting_.size() < restarting_max || restarting_.contains(rank))
    restarting_[rank] = {now, std::move(verdict)};
}

/// A failure that is a consequence may be caused by a failure that the launcher handles with a
/// restart.
void CallCourse::recall(TimePoint now) {
  for (auto& [rank, failure] : std::exchange(restarting_, {}))
    if (now - failure.first <= recalled_for) cause_.add(std::move(failure.second), now);
}

void CallCourse::done(const std::string& host, TimePoint now) {
  time_.advance(now);
  const bool is_last = deciding_.erase(host) > 0 && deciding_.empty();
  if (is_last && phase_ == Phase::running && launcher_running_)
    actions_.push_back({.kind = Action::Kind::release, .number = number_, .hosts = own_->hosts});
  look(now);
}

void CallCourse::ended_here(Number number, job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  if (runs(number)) ended(std::move(verdict), now);
}

void CallCourse::restarts_here(Number number, job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  if (runs(number)) restarts(std::move(verdict), now);
}

void CallCourse::done_here(Number number, TimePoint now) {
  time_.advance(now);
  if (runs(number)) done(options_.host, now);
}

void CallCourse::launcher_ended(Number number, job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  if (!runs(number)) return;
  launcher_running_ = false;
  ended(std::move(verdict), now);
}

void CallCourse::session_ended(Number number, const std::string& host, const job::Outcome& outcome,
                               TimePoint now) {
  time_.advance(now);
  if (!runs(number) || stopping_ || cause_.failing() || ranks_ended_on_.contains(host)) return;
  const std::string what =
      "the SSH session to " + host + " ended (" + job::describe(outcome) + ") before its ranks";
  // Not every mpirun waits, and then its own failure is the call's.
  actions_.push_back({.text = what + "; waiting for mpirun to exit"});
  job::Verdict verdict = failed_on(
      options_.host, what + ", and mpirun is still waiting for them; check that " + host +
                         " resolves to the job's host, and that its sshd runs the given command");
  verdict.process = "ssh";
  sessions_over_[host] = {now + options_.session_grace, std::move(verdict)};
}

void CallCourse::judge_sessions(TimePoint now) {
  if (!launcher_running_) return;
  std::erase_if(sessions_over_, [&](const auto& host_and_session) {
    const auto& [due, verdict] = host_and_session.second;
    if (now < due) return false;
    cause_.add(verdict, now);
    return true;
  });
}

void CallCourse::stop(TimePoint now) {
  time_.advance(now);
  // Hosts report when none of their processes runs. Until all have, the launcher sees no end, and
  // parameter servers keep their grace although all workers have ended.
  if (!stopping_ && phase_ == Phase::running)
    deciding_.insert(own_->hosts.begin(), own_->hosts.end());
  stopping_ = true;
  sessions_over_.clear();
  if (!closed_) begin_if_complete(options_.host);
  look(now);
}

std::optional<job::Verdict> CallCourse::verdict(TimePoint now) const {
  const bool all_ended = !launcher_running_ && deciding_.empty();
  if (all_ended && !cause_.failing()) return job::Verdict{};
  if (!stopping_) return cause_.decide(now);
  if (!all_ended) return std::nullopt;
  return cause_.decide(TimePoint::max());
}

void CallCourse::look(TimePoint now) {
  if (closed_ || phase_ != Phase::running) return;
  const bool no_launcher = !launcher_running_ && deciding_.empty();
  const bool no_rank =
      own_->ranks > 0 && static_cast<int>(well_.size() + failed_.size()) >= own_->ranks;
  if (no_launcher || no_rank) cause_.all_ended(now);
  judge_sessions(now);
  const std::optional<job::Verdict> found = verdict(now);
  if (!found) return;
  if (!is_excused(*found)) return end(*found, now);
  actions_.push_back({.text = job::describe(*found) + ", after all ranks had succeeded"});
  end({}, now);
}

/// Hydra's mpirun writes to daemons that have exited, and then fails although all work is done.
bool CallCourse::is_excused(const job::Verdict& cause) const {
  const int wanted = own_->ranks_decide;
  return wanted > 0 && static_cast<int>(well_.size()) >= wanted && cause.rank < 0 &&
         cause.outcome.kind == job::Outcome::Kind::exited && !cause.success();
}

// --- ending ---

void CallCourse::end(const job::Verdict& verdict, TimePoint now) {
  CHECK_THAT(phase_ == Phase::running, "only a call that runs can end");
  if (whole_job_) return answer({verdict, {}});
  phase_ = Phase::ending;
  verdict_ = verdict;
  draining_.insert(own_->hosts.begin(), own_->hosts.end());
  next_say_ = now + options_.say_missing_every;
  const Duration grace = verdict.success() ? Duration() : options_.failure_grace;
  actions_.push_back(
      {.kind = Action::Kind::drain, .number = number_, .hosts = own_->hosts, .grace = grace});
}

void CallCourse::drained(const std::string& host) {
  if (closed_ || phase_ != Phase::ending) return;
  draining_.erase(host);
  if (draining_.empty()) answer({verdict_, {}});
}

void CallCourse::lost(const std::string& host, TimePoint now) {
  time_.advance(now);
  if (!closed_ && phase_ == Phase::running && stopping_) done(host, now);
  drained(host);
}

void CallCourse::fail_call(const std::string& host, const std::string& why) {
  answer({failed_on(host, why), {}});
}

void CallCourse::refuse_outsider(const std::string& host, const std::string& name) {
  Action refused{.kind = Action::Kind::answer, .hosts = {host}};
  refused.result.verdict =
      failed_on(host, "calls " + name + ", but does not take part in the distribution");
  actions_.push_back(std::move(refused));
}

void CallCourse::answer(const launch::CallResult& result) {
  last_failure_.reset();
  if (!result.verdict.success()) last_failure_ = result.verdict;
  Action answered{.kind = Action::Kind::answer, .result = result};
  for (const auto& [host, call] : came_) answered.hosts.push_back(host);
  actions_.push_back(std::move(answered));
  phase_ = Phase::idle;
  came_.clear();
  own_.reset();
}

void CallCourse::close() {
  closed_ = true;
  actions_.clear();
}

// --- time ---

void CallCourse::step(TimePoint now) {
  time_.advance(now);
  look(now);
  const bool waits = phase_ == Phase::gathering || phase_ == Phase::ending;
  if (!closed_ && waits && now >= next_say_) say_missing(now);
}

void CallCourse::say_missing(TimePoint now) {
  next_say_ = now + options_.say_missing_every;
  CHECK_THAT(!came_.empty(), "a call that waits was made by a host");
  const std::string& name = came_.begin()->second.name;
  const std::string what =
      phase_ == Phase::gathering ? " to call it too" : " to stop its remaining processes";
  actions_.push_back({.kind = Action::Kind::say,
                      .text = name + " is waiting for " + join(missing(), ", ") + what});
}

std::optional<TimePoint> CallCourse::next_deadline() const {
  if (closed_ || phase_ == Phase::idle) return std::nullopt;
  if (phase_ != Phase::running) return next_say_;
  if (stopping_) return std::nullopt;
  if (const std::optional<TimePoint> decides = cause_.next_deadline()) return decides;
  std::optional<TimePoint> next;
  for (const auto& [host, session] : sessions_over_)
    if (launcher_running_ && (!next || session.first < *next)) next = session.first;
  return next;
}

}  // namespace muster::calls
