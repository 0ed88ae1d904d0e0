#include "call_world.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "host/ranks/messages.h"

namespace muster::sim {
namespace {

using job::Message;
using job::Outcome;
using job::type_of;
using Kind = launch::Call::Kind;
using namespace std::chrono_literals;

constexpr Duration grace = 1s;
constexpr Duration say_every = 10s;
constexpr Duration pause_max = 3s;  ///< Noise may hold the leader or a frame up so long.

std::vector<Host> hosts_of(std::size_t count) {
  std::vector<Host> hosts(count);
  for (std::size_t i = 0; i < count; ++i) hosts[i].name = "algo-" + std::to_string(i + 1);
  return hosts;
}

job::Verdict ended(const std::string& host, std::string process, int rank, Outcome outcome) {
  job::Verdict verdict;
  verdict.outcome = std::move(outcome);
  verdict.host = host;
  verdict.process = std::move(process);
  verdict.rank = rank;
  return verdict;
}

}  // namespace

bool is_of_host(Fault fault) {
  return fault == Fault::host_dies || fault == Fault::host_is_cut_off;
}

CallPlan call_plan(std::mt19937_64& random) {
  const auto millis = [&](int most) {
    return std::chrono::milliseconds(random() % static_cast<unsigned>(most));
  };
  CallPlan plan;
  plan.hosts = 2 + random() % 5;
  plan.taking_part = random() % 4 == 0 ? 1 + random() % plan.hosts : plan.hosts;
  plan.steps.resize(1 + random() % 4);
  for (CallPlan::Step& step : plan.steps) {
    step.kind = static_cast<Kind>(random() % 3);
    step.takes = 50ms + millis(20000);
  }
  plan.carries_on = random() % 2 == 0;
  plan.late = random() % 3 == 0;
  plan.prompt = random() % 2 == 0;
  plan.slow_drain = random() % 3 == 0;
  plan.fault = static_cast<Fault>(random() % 12);
  plan.step = random() % plan.steps.size();
  plan.victim = random() % plan.taking_part;
  plan.fault_after = millis(is_of_host(plan.fault) ? 40000 : 15000);
  if (plan.fault == Fault::outsider_calls) {
    if (plan.taking_part == plan.hosts) ++plan.hosts;
    plan.victim = plan.taking_part + random() % (plan.hosts - plan.taking_part);
  }
  if (random() % 6 == 0) plan.stop_after = millis(60000);
  return plan;
}

CallWorld::CallWorld(std::uint64_t seed, CallPlan plan)
    : plan_(std::move(plan)),
      world_(seed, hosts_of(plan_.hosts), 60s),
      course_({.host = "algo-1", .failure_grace = grace}),
      nodes_(plan_.hosts) {
  world_.on_leader_frame = [this](std::size_t member, const Frame& frame) {
    on_leader_frame(member, frame);
  };
  world_.on_member_frame = [this](std::size_t member, const Frame& frame) {
    on_member_frame(member, frame);
  };
  world_.on_lost = [this](const std::string& host) {
    course_.lost(host, world_.now());
    turn();
  };
  if (plan_.noise) world_.add_noise();
  world_.on_start = [this] {
    quiet_since_ = world_.now();
    for (std::size_t host = 0; host < nodes_.size(); ++host) working_.insert(host);
    next_step(0);
    if (plan_.stop_after)
      world_.at(world_.now() + *plan_.stop_after,
                [this] { world_.on_host(0, [this] { stop(); }); });
    if (!is_of_host(plan_.fault)) return;
    world_.at(world_.now() + plan_.fault_after, [this] {
      if (plan_.fault == Fault::host_dies) world_.kill(plan_.victim);
      if (plan_.fault == Fault::host_is_cut_off) world_.cut(plan_.victim, TimePoint::max());
    });
  };
}

void CallWorld::run(Duration most) {
  world_.run(world_.now() + most);
}

bool CallWorld::faulty(Fault fault, std::size_t host) const {
  return plan_.fault == fault && plan_.victim == host && nodes_[host].step == plan_.step;
}

std::size_t CallWorld::index_of(const std::string& name) const {
  std::size_t index = 0;
  while (name_of(index) != name) ++index;
  return index;
}

// --- the program of a host ---

void CallWorld::next_step(std::size_t host) {
  Duration think = world_.between(0ms, plan_.prompt ? 30ms : 3s);
  if (plan_.late && world_.pick(3) == 0) think = world_.between(0ms, 40s);
  const bool outsider = host >= plan_.taking_part;
  const bool calls = outsider ? plan_.fault == Fault::outsider_calls && host == plan_.victim &&
                                    nodes_[host].step == 0
                              : nodes_[host].step < plan_.steps.size();
  if (outsider && !calls) think = world_.between(0ms, 60s);
  world_.at(world_.now() + think, [this, host, calls] {
    world_.on_host(host, [this, host, calls] {
      if (nodes_[host].program_over) return;
      if (calls && !faulty(Fault::never_calls, host)) return make_call(host);
      program_ends(host, ended(name_of(host), "script", -1, Outcome::exited(0)));
    });
  });
}

launch::Call CallWorld::call_of(std::size_t host) const {
  const std::size_t step = nodes_[host].step;
  launch::Call call;
  call.name = "call-" + std::to_string(step);
  call.digest = faulty(Fault::other_digest, host) ? "other" : call.name;
  call.data = name_of(host) + " " + call.name;
  for (std::size_t i = 0; i < plan_.taking_part; ++i) call.hosts.push_back(name_of(i));
  call.kind = plan_.steps[step % plan_.steps.size()].kind;
  if (call.kind == Kind::mpi && host == 0) call.launcher = Command{{"mpirun"}, {}, {}};
  return call;
}

void CallWorld::make_call(std::size_t host) {
  const launch::Call call = call_of(host);
  const bool twice = faulty(Fault::calls_twice, host);
  const bool dies = faulty(Fault::caller_killed, host);
  if (!hand_in(host, call)) return refused(host);
  if (twice) try_again(host, call);
  if (!dies) return;
  world_.at(world_.now() + plan_.fault_after, [this, host, name = call.name] {
    world_.on_host(host, [this, host, name] { kill_caller(host, name); });
  });
}

void CallWorld::try_again(std::size_t host, const launch::Call& call) {
  if (!nodes_[host].own) return;  // The call was answered at once.
  const Result<void> again = hand_in(host, call);
  if (again || again.error().code != Errc::closed)
    wrong_.push_back("a second call was taken on " + name_of(host));
}

/// As Follow and CallLead do.
Result<void> CallWorld::hand_in(std::size_t host, launch::Call call) {
  Node& node = nodes_[host];
  if (host != 0 && node.own) return fail(Errc::closed, "is already running");
  if (host == 0) {
    const bool had = node.own.has_value();
    const Result<void> taken = course_.call(call, false, world_.now());
    if (!taken) return taken;
    if (had) wrong_.push_back("two calls of the leader at once");
  } else {
    post(host, Message::host_call, launch::host_call_text({call.name, call.digest, call.data}));
  }
  ++calls_made_;
  node.called_at = world_.now();
  node.own = std::move(call);
  node.caller_dead = false;
  if (host == 0) turn();
  return {};
}

void CallWorld::kill_caller(std::size_t host, const std::string& name) {
  Node& node = nodes_[host];
  if (!node.own || node.own->name != name || node.caller_dead) return;
  node.caller_dead = true;
  job::Verdict verdict =
      ended(name_of(host), "operator", -1, Outcome::failed("stopped before its call"));
  if (host == 0) {
    course_.ended(std::move(verdict), world_.now());
    turn();
  } else {
    post(host, Message::outcome, to_text(job::to_json(verdict)));
  }
  if (!node.program_over) refused(host);
}

/// The answer to call `name` is on its way.
void CallWorld::kill_late(const std::string& name) {
  const std::size_t host = plan_.victim;
  if (plan_.fault != Fault::killed_late || name != "call-" + std::to_string(plan_.step)) return;
  world_.at(world_.now() + world_.between(0ms, 20ms), [this, host, name] {
    world_.on_host(host, [this, host, name] { kill_caller(host, name); });
  });
}

/// A program whose call failed: the shell of it ends, or goes on.
void CallWorld::refused(std::size_t host) {
  if (!plan_.carries_on)
    return program_ends(host, ended(name_of(host), "script", -1, Outcome::exited(1)));
  ++nodes_[host].step;
  next_step(host);
}

void CallWorld::program_ends(std::size_t host, job::Verdict verdict) {
  Node& node = nodes_[host];
  if (node.program_over) return;
  node.program_over = true;
  if (host == 0) return one_host_ended(0, std::move(verdict));
  post(host, Message::host_end, to_text(job::to_json(verdict)));
}

void CallWorld::answered(std::size_t host, const launch::CallResult& result) {
  Node& node = nodes_[host];
  if (!node.own) return wrong_.push_back(name_of(host) + " was answered without a call");
  const launch::Call call = *std::exchange(node.own, std::nullopt);
  answers_.push_back({host, call.name, result});
  if (result.verdict.success() && call.kind == Kind::exchange)
    for (const std::string& each : call.hosts)
      if (!result.data.contains(each) || result.data.at(each) != each + " " + call.name)
        wrong_.push_back(name_of(host) + " did not get the data of " + each);
  if (node.caller_dead || node.program_over) return;
  if (!result.verdict.success()) return refused(host);
  ++node.step;
  next_step(host);
}

// --- its share of a call ---

void CallWorld::begin_share(std::size_t host) {
  Node& node = nodes_[host];
  if (!node.own) return;
  check_alone(node.own->name);
  ++node.share;
  node.draining = false;
  const int process = start_process(host);
  const CallPlan::Step& step = plan_.steps[node.step % plan_.steps.size()];
  if (faulty(Fault::rank_crashes, host) || faulty(Fault::rank_exits, host)) {
    const Duration after = std::min(plan_.fault_after, step.takes / 2);
    world_.at(world_.now() + after, [this, host, process] {
      world_.on_host(host, [this, host, process] { break_share(host, process); });
    });
  }
  ends_at(step.takes + world_.between(0ms, 100ms), host, process, Outcome::exited(0));
}

int CallWorld::start_process(std::size_t host) {
  nodes_[host].running[++processes_made_] = nodes_[host].own->name;
  return processes_made_;
}

void CallWorld::ends_at(Duration after, std::size_t host, int process, Outcome outcome) {
  world_.at(world_.now() + after, [this, host, process, outcome] {
    world_.on_host(host, [this, host, process, outcome] { process_ended(host, process, outcome); });
  });
}

/// The victim's process fails; its peers notice that it is gone, the launcher reports it.
void CallWorld::break_share(std::size_t host, int process) {
  if (!nodes_[host].running.contains(process) || nodes_[host].draining) return;
  const bool crash = plan_.fault == Fault::rank_crashes;
  // Class 3 beats the launcher's report; among peers that exit too the first to arrive wins.
  const Duration delay = crash ? 1ms : 90ms;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const auto& [other, name] : nodes_[i].running)
      if (i != host) ends_at(delay + world_.between(0ms, 100ms), i, other, Outcome::exited(15));
  if (!plan_.slow_drain) launcher_ends_at(world_.between(0ms, 90ms), Outcome::exited(1));
  process_ended(host, process, crash ? Outcome::signaled(SIGSEGV) : Outcome::exited(7));
}

void CallWorld::process_ended(std::size_t host, int process, Outcome outcome) {
  Node& node = nodes_[host];
  if (node.running.erase(process) == 0) return;
  const bool well = outcome.success();
  job::Verdict verdict =
      ended(name_of(host), "rank " + std::to_string(host), static_cast<int>(host), outcome);
  const bool direct = node.own && node.own->kind == Kind::direct;
  if (host == 0) {
    course_.ended_here(number_, std::move(verdict), world_.now());
    if (well && direct) course_.done_here(number_, world_.now());
    turn();
  } else {
    post(host, Message::outcome, to_text(job::to_json(verdict)));
    if (well && direct) post(host, Message::call_done, "{}");
  }
  if (node.draining && node.running.empty()) drained(host);
}

void CallWorld::start_launcher() {
  launchers_.insert(number_);
  const std::size_t step = nodes_[0].step;
  if (faulty(Fault::launcher_exits, 0))
    launcher_ends_at(std::min(plan_.fault_after, plan_.steps[step].takes / 2), Outcome::exited(3));
  launcher_ends_at(plan_.steps[step].takes + 300ms, Outcome::exited(0));
}

void CallWorld::launcher_ends_at(Duration after, Outcome outcome) {
  world_.at(world_.now() + after, [this, outcome, number = number_] {
    world_.on_host(0, [this, outcome, number] {
      if (launchers_.erase(number) == 0) return;
      course_.launcher_ended(number, ended("algo-1", "mpirun", -1, outcome), world_.now());
      turn();
    });
  });
}

void CallWorld::drain(std::size_t host, Duration grace_given) {
  Node& node = nodes_[host];
  node.draining = true;
  if (!node.running.empty() && !plan_.noise) check_drain(node, grace_given);
  // One that cannot be killed yet is not waited for: its end may fall into the next call.
  if (host == 0)
    launcher_ends_at(world_.between(0ms, plan_.slow_drain ? 9s : 20ms), Outcome::signaled(SIGKILL));
  for (const auto& [process, name] : node.running) {
    const bool obeys = grace_given > Duration() && world_.pick(2) == 0;
    Duration after = obeys ? world_.between(0ms, 500ms) : grace_given + world_.between(0ms, 20ms);
    if (!obeys && plan_.slow_drain) after += world_.between(0ms, 5s);
    ends_at(after, host, process, Outcome::signaled(obeys ? SIGTERM : SIGKILL));
  }
  if (node.running.empty()) drained(host);
}

/// Something still runs where a call is to end.
void CallWorld::check_drain(const Node& node, Duration grace_given) {
  if (node.own->kind == Kind::direct && grace_given == Duration())
    wrong_.push_back(node.own->name + " has succeeded while it ran");
  if (stopped_at_ && world_.now() < *stopped_at_ + 2s)
    wrong_.push_back(node.own->name + " was ended in the grace of a stop");
}

void CallWorld::drained(std::size_t host) {
  nodes_[host].draining = false;
  ++nodes_[host].share;
  if (host != 0) return post(host, Message::call_drained, "{}");
  course_.drained("algo-1");
  turn();
}

void CallWorld::stop_host(std::size_t host) {
  Node& node = nodes_[host];
  for (const auto& [process, name] : node.running)
    ends_at(world_.between(0ms, 2s), host, process, Outcome::signaled(SIGTERM));
  if (node.own) kill_caller(host, node.own->name);
  program_ends(host, ended(name_of(host), "script", -1, Outcome::signaled(SIGTERM)));
}

// --- the leader ---

void CallWorld::post(std::size_t member, Message type, std::string payload) {
  world_.post_to_leader(member, {type_of(type), std::move(payload)});
}

void CallWorld::on_leader_frame(std::size_t member, const Frame& frame) {
  const std::string name = name_of(member);
  const auto verdict = [&] { return *ranks::verdict_from_text(frame.payload); };
  switch (static_cast<Message>(frame.type)) {
    case Message::host_call:
      course_.member_calls(name, *launch::host_call_from(frame.payload), world_.now());
      break;
    case Message::outcome:
      course_.ended(verdict(), world_.now());
      break;
    case Message::call_done:
      course_.done(name, world_.now());
      break;
    case Message::call_drained:
      course_.drained(name);
      break;
    case Message::host_end:
      return one_host_ended(member, verdict());
    default:
      wrong_.push_back("the leader got message " + std::to_string(frame.type));
  }
  turn();
}

void CallWorld::one_host_ended(std::size_t host, job::Verdict verdict) {
  working_.erase(host);
  if (verdict.success()) course_.gone(name_of(host));
  turn();
  if (!verdict.success() && !stopped_at_)
    world_.add_failure(course_.last_failure() ? *course_.last_failure() : std::move(verdict));
  if (working_.empty()) world_.all_ended();
}

void CallWorld::stop() {
  if (world_.verdict()) return;
  stopped_at_ = world_.now();
  course_.stop(world_.now());
  for (std::size_t host = 1; host < nodes_.size(); ++host)
    world_.post_to_member(host, {type_of(Message::signal), ranks::signal_text(SIGTERM, 30s)});
  launcher_ends_at(2500ms, Outcome::exited(1));
  stop_host(0);
  turn();
}

void CallWorld::turn() {
  if (in_turn_) return;
  in_turn_ = true;
  const std::size_t said = said_;
  for (std::vector<Action> actions = course_.take_actions(); !actions.empty();
       actions = course_.take_actions())
    for (const Action& action : actions) carry_out(action);
  in_turn_ = false;
  if (world_.verdict()) return course_.close();
  check_waiting(said != said_);
  const std::optional<TimePoint> next = course_.next_deadline();
  if (!next) return;
  world_.at(*next, [this, armed = ++armed_] {
    world_.on_host(0, [this, armed] {
      if (armed != armed_) return;
      course_.step(world_.now());
      turn();
    });
  });
}

void CallWorld::carry_out(const Action& action) {
  const auto tell = [&](Message type, const std::string& payload) {
    for (const std::string& host : action.hosts)
      if (host != "algo-1") world_.post_to_member(index_of(host), {type_of(type), payload});
  };
  switch (action.kind) {
    case Action::Kind::begin:
      number_ = action.number;
      tell(Message::call_start, "{}");
      return begin_share(0);
    case Action::Kind::launch:
      return start_launcher();
    case Action::Kind::release:
      return;  // Launchers of this world see no rank's end before its time.
    case Action::Kind::drain:
      tell(Message::call_drain, ranks::grace_text(action.grace));
      return drain(0, action.grace);
    case Action::Kind::answer:
      tell(Message::call_end, launch::call_result_text(action.result));
      return answer(action);
    case Action::Kind::say:
      ++said_;
      return check_said(action.text);
  }
}

void CallWorld::answer(const Action& action) {
  for (std::size_t i = 0; i < nodes_.size() && !world_.verdict(); ++i)
    for (const auto& [process, name] : nodes_[i].running)
      if (world_.alive(i) && action.hosts.size() > 1)
        wrong_.push_back(name + " was answered while it ran on " + name_of(i));
  if (nodes_[0].own) kill_late(nodes_[0].own->name);
  if (action.hosts.front() == "algo-1") answered(0, action.result);
}

/// Hosts that have not called are named, and no others; frames under way are given their time.
void CallWorld::check_said(const std::string& text) {
  const Args missing = course_.missing();
  if (missing.empty()) return wrong_.push_back("waits for nobody: " + text);
  for (const std::string& name : missing) {
    const Node& node = nodes_[index_of(name)];
    const bool gathers = text.ends_with(" to call it too");
    const bool called = node.own && node.called_at + pause_max < world_.now();
    const bool unheard =
        is_of_host(plan_.fault) && (plan_.victim == 0 || index_of(name) == plan_.victim);
    if (gathers && called && !unheard) wrong_.push_back(name + " has called: " + text);
    if (text.find(name) == std::string::npos) wrong_.push_back(name + " is not named: " + text);
  }
}

void CallWorld::check_waiting(bool said) {
  const bool waited = std::exchange(waits_, !course_.missing().empty());
  if (said || !waits_ || !waited) quiet_since_ = world_.now();
  if (world_.now() > quiet_since_ + say_every + pause_max)
    wrong_.push_back("waits in silence for " + join(course_.missing(), ", "));
}

/// Nothing of another call may run anywhere when one begins.
void CallWorld::check_alone(const std::string& name) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const auto& [process, other] : nodes_[i].running)
      if (other != name && world_.alive(i) && !world_.verdict())
        wrong_.push_back(name + " began while " + other + " ran on " + name_of(i));
}

// --- the members ---

void CallWorld::on_member_frame(std::size_t member, const Frame& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::start:
      return next_step(member);
    case Message::call_start:
      return begin_share(member);
    case Message::call_drain:
      return drain(member, ranks::grace_from(frame.payload));
    case Message::call_end:
      return answered(member, *launch::call_result_from(frame.payload));
    case Message::signal:
      return stop_host(member);
    default:
      wrong_.push_back("a member got message " + std::to_string(frame.type));
  }
}

}  // namespace muster::sim
