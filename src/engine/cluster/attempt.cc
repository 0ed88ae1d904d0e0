#include "engine/cluster/attempt.h"

#include <algorithm>
#include <csignal>

#include "engine/slurm/orders.h"
#include "engine/slurm/words.h"

namespace muster::cluster {
namespace {

using engine::Event;
using Results = HostState::Results;
using slurm::Standing;

void earlier(std::optional<TimePoint>& next, const std::optional<TimePoint>& at) {
  if (at && (!next || *at < *next)) next = at;
}

/// Slurm's report of an end, for a host that has not reported its own.
Event event_of(const slurm::QueuedJob& over) {
  if (over.state.empty())
    return {.kind = Event::Kind::lost, .text = "Slurm no longer knows the job"};
  const slurm::JobEnd end = slurm::end_of(over.state, over.reason);
  if (over.state == "PREEMPTED") return {.kind = Event::Kind::preempted, .text = end.reason};
  if (end.secondary == "Stopped")
    return {
        .kind = Event::Kind::ended, .text = end.reason, .outcome = job::Outcome::stopped(SIGTERM)};
  // The job's own doing: it would end alike a second time.
  const bool time_limit = end.secondary == "MaxRuntimeExceeded";
  if (time_limit || over.state == "OUT_OF_MEMORY")
    return {.kind = Event::Kind::ended,
            .outcome = job::Outcome::failed(end.reason),
            .time_limit = time_limit};
  if (end.status == "Completed")
    return {.kind = Event::Kind::lost, .text = "its steward exited without a report"};
  return {.kind = Event::Kind::lost, .text = end.reason};
}

}  // namespace

Attempt::Attempt(int number, std::vector<HostState> hosts, bool delivered, Times times,
                 TimePoint now, bool holds)
    : number_(number),
      times_(times),
      time_(now),
      holds_(holds),
      states_(std::move(hosts)),
      hosts_(states_.size()),
      delivery_(delivered ? Delivery::delivered : Delivery::waiting),
      since_(now) {
  CHECK_THAT(!states_.empty(), "an attempt has a host");
  if (delivered) join_by_ = now + times_.join_max;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!states_[i].started) continue;
    start_ = Start::begun_before;
    if (states_[i].results == HostState::Results::here) continue;
    hosts_[i].link = Link::silent;
    hosts_[i].silent_since = now;
  }
}

std::size_t Attempt::index(const std::string& host) const {
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const HostState& each) { return each.name == host; });
  CHECK_THAT(found != states_.end(), "a host that is not of the job");
  return static_cast<std::size_t>(found - states_.begin());
}

void Attempt::tell(Actions& actions, Event event) const {
  event.attempt = number_;
  actions.push_back({.kind = Action::Kind::tell, .event = std::move(event)});
}

void Attempt::end_host(Actions& actions, std::size_t at, Event event) {
  HostState& state = states_[at];
  if (state.end) return;
  event.host = state.name;
  event.attempt = number_;
  state.end = event;
  hosts_[at].held.reset();
  tell(actions, std::move(event));
}

/// True if the host was ordered to end at once, and has not reported its end.
bool Attempt::ends(std::size_t at) const {
  return hosts_[at].asked == Asked::end && !states_[at].end;
}

void Attempt::give_up_results() {
  for (HostState& state : states_)
    if (state.results != Results::here) state.results = Results::lost;
}

/// The host's steward is not there to say how it ended.
void Attempt::gone(Actions& actions, std::size_t at, Event event, UnixMillis time) {
  if (states_[at].results != Results::here) states_[at].results = Results::lost;
  event.time = hosts_[at].heard > UnixMillis(0) ? hosts_[at].heard : time;
  end_host(actions, at, std::move(event));
  if (states_[at].started) actions.push_back({.kind = Action::Kind::end, .host = states_[at].name});
  finish(actions);
}

void Attempt::all_gone(Actions& actions, const Event& event, UnixMillis time) {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (!states_[i].end) gone(actions, i, hosts_[i].held ? hosts_[i].held->event : event, time);
}

/// Once nothing more is to come of an attempt it has no business in Slurm.
void Attempt::finish(Actions& actions) {
  if (!settled() || in_slurm_ >= InSlurm::over) return;
  if (holds_ && lost_any()) return;
  if (holds_)
    for (const HostState& state : states_)
      actions.push_back({.kind = Action::Kind::done, .host = state.name});
  const bool well = std::all_of(states_.begin(), states_.end(), [](const HostState& state) {
    return state.results == Results::here;
  });
  if (well) return;  // Stewards end by themselves.
  in_slurm_ = InSlurm::cancelled;
  actions.push_back({.kind = Action::Kind::cancel});
}

void Attempt::waits(Actions& actions, const std::string& text, UnixMillis time) {
  if (has_begun() || text == waits_for_) return;
  waits_for_ = text;
  for (const HostState& state : states_)
    if (!state.end)
      tell(actions, {.kind = Event::Kind::queued, .host = state.name, .time = time, .text = text});
}

void Attempt::tell_health(Actions& actions, const std::string& text, UnixMillis time) {
  if (!has_begun() || text == health_) return;
  health_ = text;
  for (const HostState& state : states_)
    if (!state.end)
      tell(actions, {.kind = Event::Kind::health, .host = state.name, .time = time, .text = text});
}

Actions Attempt::on_queue(const std::optional<slurm::QueuedJob>& job, UnixMillis time,
                          TimePoint now) {
  time_.advance(now);
  Actions actions;
  if (settled() || in_slurm_ == InSlurm::over) return actions;
  if (!job) {
    const bool forgotten = in_slurm_ == InSlurm::shown || now > since_ + times_.forget_max;
    if (forgotten) on_over(actions, {}, time, now);
    return actions;
  }
  in_slurm_ = InSlurm::shown;
  switch (slurm::standing_of(job->state)) {
    case Standing::waiting:
      if (delivery_ != Delivery::waiting) {
        // A controller that was killed has forgotten that it runs: it would run a second time.
        all_gone(actions, {.kind = Event::Kind::lost, .text = "Slurm restarted the job"}, time);
        break;
      }
      if (slurm::is_held_by_failed_launch(job->reason)) {
        all_gone(actions, {.kind = Event::Kind::lost, .text = slurm::why_it_waits(job->reason)},
                 time);
        break;
      }
      waits(actions, waiting_text(*job), time);
      break;
    case Standing::starting:
      waits(actions, "its nodes are being prepared", time);
      break;
    case Standing::running:
      tell_health(actions, "", time);
      if (delivery_ != Delivery::waiting || over()) break;
      delivery_ = Delivery::delivering;
      actions.push_back({.kind = Action::Kind::deliver});
      break;
    case Standing::suspended:
      tell_health(actions, "Slurm has suspended the job", time);
      break;
    case Standing::over:
      on_over(actions, *job, time, now);
      break;
    case Standing::ending:
    case Standing::unknown:
      break;
  }
  return actions;
}

/// Links that are open have `over_max` to say more than Slurm does.
void Attempt::on_over(Actions& actions, const slurm::QueuedJob& job, UnixMillis time,
                      TimePoint now) {
  in_slurm_ = InSlurm::over;
  last_word_ = job;
  over_by_ = now + times_.over_max;
  unbrought_by_.reset();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].held) {
      tell_held(actions, i);
    } else if (hosts_[i].link != Link::open) {
      if (!states_[i].end) gone(actions, i, slurms_word(), time);
      if (states_[i].results != Results::here) states_[i].results = Results::lost;
    }
  }
}

/// A job that ends well within the grace of a preemption is COMPLETED in the end.
Event Attempt::slurms_word() const {
  if (preempted_) return event_of({.state = "PREEMPTED"});
  const bool is_over = in_slurm_ == InSlurm::over;
  return is_over ? event_of(last_word_) : Event{.kind = Event::Kind::ended};
}

/// A host that ended after somebody's SIGTERM: Slurm has said why it sent that, or says nothing.
void Attempt::tell_held(Actions& actions, std::size_t at) {
  Event event = hosts_[at].held->event;
  const Event said = slurms_word();
  const bool failed = in_slurm_ == InSlurm::over &&
                      slurm::end_of(last_word_.state, last_word_.reason).node_at_fault;
  const bool timed_out = said.kind == Event::Kind::ended && !said.outcome.success();
  if (said.kind == Event::Kind::preempted || failed || timed_out) {
    const UnixMillis time = event.time;
    event = said;
    event.time = time;
  }
  end_host(actions, at, std::move(event));
  finish(actions);
}

Actions Attempt::on_delivered(const Result<void>& done, UnixMillis time, TimePoint now) {
  time_.advance(now);
  Actions actions;
  delivery_ = Delivery::delivered;
  if (done) join_by_ = now + times_.join_max;
  if (done || in_slurm_ == InSlurm::over) return actions;
  unbrought_ = "the job could not be copied to its nodes: " + done.error().text;
  if (slurm::is_over_to_sbcast(unbrought_)) {
    unbrought_by_ = now + times_.over_max;
    actions.push_back({.kind = Action::Kind::look});
    return actions;
  }
  all_gone(actions, {.kind = Event::Kind::lost, .text = unbrought_}, time);
  return actions;
}

Actions Attempt::on_joined(const std::string& name, const std::string& node,
                           const std::string& address, UnixMillis time) {
  if (!has_begun()) {
    HostState& state = states_[index(name)];
    state.node = node;
    state.address = address;
  }
  return on_back(name, time);
}

Actions Attempt::on_back(const std::string& name, UnixMillis time) {
  Actions actions;
  const std::size_t at = index(name);
  const HostState& state = states_[at];
  Host& host = hosts_[at];
  host.link = Link::open;
  host.heard = time;
  if (ends(at) || (state.end && state.results == Results::lost))
    actions.push_back({.kind = Action::Kind::end, .host = name});
  const bool all = std::all_of(hosts_.begin(), hosts_.end(),
                               [](const Host& each) { return each.link == Link::open; });
  if (start_ == Start::begun_before && all && none_over()) {
    start_ = Start::begun;
    actions.push_back({.kind = Action::Kind::begin});
  }
  begin_if_all_came(actions, time);
  return actions;
}

/// Begins only when all hosts' addresses are known. So a host that was stopped meanwhile is waited
/// for, too, and then learns that the attempt has ended.
void Attempt::begin_if_all_came(Actions& actions, UnixMillis time) {
  if (has_begun() || over()) return;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool came_once = states_[i].end && hosts_[i].heard > UnixMillis(0);
    if (hosts_[i].link != Link::open && !came_once) return;
  }
  start_ = Start::begun;
  join_by_.reset();
  for (HostState& each : states_) {
    if (each.end) {
      actions.push_back({.kind = Action::Kind::end, .host = each.name});
      continue;
    }
    Event started{.kind = Event::Kind::started,
                  .host = each.name,
                  .attempt = number_,
                  .time = time,
                  .node = each.node,
                  .address = each.address};
    each.started = started;
    tell(actions, std::move(started));
  }
  actions.push_back({.kind = Action::Kind::begin});
}

Actions Attempt::on_signalled(const std::string& name) {
  Host& host = hosts_[index(name)];
  if (host.asked != Asked::nothing) return {};
  host.signalled = true;
  return {{.kind = Action::Kind::look}};
}

Actions Attempt::on_preempted() {
  Actions actions;
  preempted_ = true;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].held) tell_held(actions, i);
  return actions;
}

Actions Attempt::on_silent(const std::string& name, UnixMillis heard, TimePoint now) {
  time_.advance(now);
  Actions actions;
  const std::size_t at = index(name);
  Host& host = hosts_[at];
  if (host.link != Link::open) return actions;
  host.link = Link::silent;
  host.silent_since = now;
  host.heard = heard;
  if (states_[at].end && states_[at].results == Results::here) return actions;
  if (ends(at))
    gone(actions, at, {.kind = Event::Kind::ended, .outcome = job::Outcome::signaled(SIGKILL)},
         heard);
  else if (in_slurm_ == InSlurm::over && !states_[at].end)
    gone(actions, at, slurms_word(), heard);
  else
    actions.push_back({.kind = Action::Kind::look});
  return actions;
}

Actions Attempt::on_ended(const std::string& name, job::Outcome outcome, UnixMillis time,
                          TimePoint now) {
  time_.advance(now);
  Actions actions;
  const std::size_t at = index(name);
  if (states_[at].end || hosts_[at].held) {  // Reported again to an engine that was restarted.
    if (states_[at].results != Results::here)
      actions.push_back({.kind = Action::Kind::give, .host = name});
    else if (!holds_ || (over() && !lost_any()))
      actions.push_back({.kind = Action::Kind::done, .host = name});
    return actions;
  }
  Event event{.kind = Event::Kind::ended,
              .host = name,
              .time = time,
              .outcome = ends(at) ? job::Outcome::signaled(SIGKILL) : std::move(outcome)};
  if (is_killed(at, event.outcome)) {
    event.kind = Event::Kind::lost;
    event.text = "its steward was killed";
  }
  actions.push_back({.kind = Action::Kind::give, .host = name});
  // A host may end by another's end before its own signal has come.
  const bool someone_is =
      std::any_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.signalled; });
  if (someone_is) {
    hosts_[at].held = Held{std::move(event), now + times_.over_max};
    if (in_slurm_ == InSlurm::over || preempted_) tell_held(actions, at);
    return actions;
  }
  end_host(actions, at, std::move(event));
  return actions;
}

Actions Attempt::on_given(const std::string& name, const std::string& why_not) {
  const std::size_t at = index(name);
  states_[at].results = why_not.empty() ? Results::here : Results::lost;
  states_[at].not_given = why_not;
  Actions actions;
  if (!holds_) actions.push_back({.kind = Action::Kind::done, .host = name});
  finish(actions);
  return actions;
}

Actions Attempt::stop(const std::string& name, std::chrono::milliseconds grace, UnixMillis time) {
  Actions actions;
  const std::size_t at = index(name);
  if (states_[at].end) return actions;
  if (hosts_[at].asked == Asked::nothing) hosts_[at].asked = Asked::stop;
  if (has_begun()) {
    actions.push_back({.kind = Action::Kind::stop, .host = name, .grace = grace});
    return actions;
  }
  gone(actions, at, {.kind = Event::Kind::ended, .outcome = job::Outcome::signaled(SIGTERM)}, time);
  return actions;
}

Actions Attempt::destroy(const std::string& name, UnixMillis time, TimePoint now) {
  time_.advance(now);
  const std::size_t at = index(name);
  if (states_[at].end) return {};
  if (!has_begun()) return stop(name, std::chrono::milliseconds(0), time);
  Actions actions{{.kind = Action::Kind::end, .host = name}};
  hosts_[at].asked = Asked::end;
  hosts_[at].end_by = now + times_.end_max;
  if (hosts_[at].link != Link::open)
    gone(actions, at, {.kind = Event::Kind::lost, .text = "its node does not respond"}, time);
  return actions;
}

Actions Attempt::on_time(UnixMillis time, TimePoint now) {
  time_.advance(now);
  Actions actions;
  if (join_by_ && now >= *join_by_) {
    std::string missing;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].link != Link::open) missing += (missing.empty() ? "" : ", ") + states_[i].name;
    join_by_.reset();
    if (!has_begun())
      all_gone(actions, {.kind = Event::Kind::lost, .text = "no steward connected for " + missing},
               time);
  }
  if (unbrought_by_ && now >= *unbrought_by_) {
    unbrought_by_.reset();
    all_gone(actions, {.kind = Event::Kind::lost, .text = unbrought_}, time);
  }
  if (over_by_ && now >= *over_by_) {
    over_by_.reset();
    all_gone(actions, slurms_word(), time);
    give_up_results();
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (host.held && now >= host.held->until) tell_held(actions, i);
    if (ends(i) && now >= host.end_by)
      gone(actions, i, {.kind = Event::Kind::lost, .text = "its node does not respond"}, time);
    if (host.link == Link::silent && now >= host.silent_since + times_.silence_max) {
      host.link = Link::given_up;
      if (!states_[i].end)
        gone(actions, i, {.kind = Event::Kind::lost, .text = "its node does not respond"}, time);
      if (states_[i].results != Results::here) states_[i].results = Results::lost;
      finish(actions);
    }
  }
  return actions;
}

std::optional<TimePoint> Attempt::next_deadline() const {
  std::optional<TimePoint> next;
  earlier(next, join_by_);
  earlier(next, over_by_);
  earlier(next, unbrought_by_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].held) earlier(next, hosts_[i].held->until);
    if (ends(i)) earlier(next, hosts_[i].end_by);
    if (hosts_[i].link == Link::silent) earlier(next, hosts_[i].silent_since + times_.silence_max);
  }
  return next;
}

bool Attempt::over() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const HostState& state) { return state.end.has_value(); });
}

bool Attempt::none_over() const {
  return std::none_of(states_.begin(), states_.end(),
                      [](const HostState& state) { return state.end.has_value(); });
}

bool Attempt::lost_any() const {
  return std::any_of(states_.begin(), states_.end(), [](const HostState& state) {
    return state.end && state.end->kind == Event::Kind::lost;
  });
}

/// Killed by an unknown sender, without a request: the host's node is as good as before.
bool Attempt::is_killed(std::size_t at, const job::Outcome& outcome) const {
  const Host& host = hosts_[at];
  return holds_ && outcome == job::Outcome::signaled(SIGKILL) && host.asked == Asked::nothing &&
         !host.signalled;
}

bool Attempt::settled() const {
  return std::all_of(states_.begin(), states_.end(), [](const HostState& state) {
    return state.end && state.results != Results::to_come;
  });
}

bool Attempt::moves() const {
  if (settled()) return false;
  if (!has_begun()) return true;
  return std::any_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
    return host.link == Link::silent || host.held || host.signalled;
  });
}

std::vector<Event> Attempt::present() const {
  std::vector<Event> events;
  for (const HostState& state : states_) {
    if (!state.started && !waits_for_.empty() && !state.end)
      events.push_back({.kind = Event::Kind::queued, .host = state.name, .text = waits_for_});
    if (state.started) events.push_back(*state.started);
    if (state.started && !health_.empty() && !state.end)
      events.push_back({.kind = Event::Kind::health, .host = state.name, .text = health_});
    if (state.end) events.push_back(*state.end);
  }
  for (Event& event : events) event.attempt = number_;
  return events;
}

std::string waiting_text(const slurm::QueuedJob& job) {
  std::string text = slurm::why_it_waits(job.reason);
  if (text.empty()) text = "Slurm has not considered the job yet";
  if (!job.start.empty()) text += "; expected to start at " + job.start;
  return text;
}

}  // namespace muster::cluster
