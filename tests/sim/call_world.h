#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "host/calls/call_course.h"
#include "job/wire/message.h"
#include "world.h"

namespace muster::sim {

/// What goes wrong in a job of calls, at most one thing: on one host, at one of its calls.
enum class Fault {
  none,
  other_digest,    ///< The host makes another call than the rest.
  never_calls,     ///< The program ends well before the call.
  calls_twice,     ///< While its call has no answer it calls again.
  caller_killed,   ///< The caller is killed before the answer.
  killed_late,     ///< ... is killed when the answer is on its way.
  outsider_calls,  ///< A host that takes no part calls.
  rank_crashes,    ///< A process of its share dies by a signal; others follow.
  rank_exits,      ///< ... ends with a code; others follow.
  launcher_exits,  ///< The launcher ends with a code (the leader's).
  host_dies,       ///< Any time.
  host_is_cut_off,
};

/// A job in which every host runs the same program: call after call. All comes from a seed.
struct CallPlan {
  struct Step {
    launch::Call::Kind kind = launch::Call::Kind::exchange;
    Duration takes{};  ///< What runs, if nothing ends it.
  };
  std::size_t hosts = 2;
  std::size_t taking_part = 2;  ///< The first so many of them make the calls.
  std::vector<Step> steps;
  bool carries_on = false;  ///< A program whose call failed goes on with the next.
  bool late = false;        ///< Hosts come to their calls up to 40 s apart.
  bool prompt = false;      ///< The next call follows an answer within 30 ms.
  bool slow_drain = false;  ///< What is killed may take 5 s to be gone, a launcher longer.
  bool noise = false;       ///< World::add_noise().
  Fault fault = Fault::none;
  std::size_t victim = 0;  ///< A host.
  std::size_t step = 0;    ///< At which of its calls.
  Duration fault_after{};  ///< From the call, or what it started; of a host, from the start.
  std::optional<Duration> stop_after;  ///< From the start of the job.
};
/// The fault is the host's own, whatever it calls.
bool is_of_host(Fault fault);
CallPlan call_plan(std::mt19937_64& random);

/// How a call was answered on a host.
struct Answered {
  std::size_t host = 0;
  std::string name;
  launch::CallResult result;
};

/// Hosts that make calls: the real CallCourse on the leader, small stand-ins for what it drives, a
/// world's sessions between them.
class CallWorld {
 public:
  CallWorld(std::uint64_t seed, CallPlan plan);
  CallWorld(const CallWorld&) = delete;
  CallWorld& operator=(const CallWorld&) = delete;

  void run(Duration most);
  World& world() { return world_; }
  const std::vector<Answered>& answers() const { return answers_; }
  std::size_t calls_made() const { return calls_made_; }
  std::size_t said() const { return said_; }
  /// What must never be and was, in words.
  const std::vector<std::string>& wrong() const { return wrong_; }
  std::string name_of(std::size_t host) const { return "algo-" + std::to_string(host + 1); }
  const CallPlan& plan() const { return plan_; }

 private:
  struct Node {
    std::size_t step = 0;
    bool program_over = false;
    bool caller_dead = false;
    std::optional<launch::Call> own;  ///< A call without an answer.
    TimePoint called_at{};
    int share = 0;  ///< As in Follow.
    bool draining = false;
    std::map<int, std::string> running;  ///< Processes of its share, by number: what call.
  };
  using Action = calls::CallCourse::Action;

  // The program of a host.
  void next_step(std::size_t host);
  void make_call(std::size_t host);
  void try_again(std::size_t host, const launch::Call& call);
  Result<void> hand_in(std::size_t host, launch::Call call);
  launch::Call call_of(std::size_t host) const;
  void kill_caller(std::size_t host, const std::string& name);
  void refused(std::size_t host);
  void program_ends(std::size_t host, job::Verdict verdict);
  void answered(std::size_t host, const launch::CallResult& result);

  // The share of a call.
  void begin_share(std::size_t host);
  int start_process(std::size_t host);
  void ends_at(Duration after, std::size_t host, int process, job::Outcome outcome);
  void start_launcher();
  void launcher_ends_at(Duration after, job::Outcome outcome);
  void kill_late(const std::string& name);
  void break_share(std::size_t host, int process);
  void process_ended(std::size_t host, int process, job::Outcome outcome);
  void drain(std::size_t host, Duration grace);
  void check_drain(const Node& node, Duration grace_given);
  void drained(std::size_t host);
  void stop_host(std::size_t host);

  // The leader.
  void on_leader_frame(std::size_t member, const Frame& frame);
  void one_host_ended(std::size_t host, job::Verdict verdict);
  void stop();
  void turn();
  void carry_out(const Action& action);
  void answer(const Action& action);
  void check_said(const std::string& text);
  void check_waiting(bool said);
  void check_alone(const std::string& name);

  void on_member_frame(std::size_t member, const Frame& frame);
  void post(std::size_t member, job::Message type, std::string payload);
  bool faulty(Fault fault, std::size_t host) const;
  std::size_t index_of(const std::string& name) const;

  CallPlan plan_;
  World world_;
  calls::CallCourse course_;
  std::vector<Node> nodes_;
  std::set<std::size_t> working_;
  calls::CallCourse::Number number_ = 0;           ///< The call that runs.
  std::set<calls::CallCourse::Number> launchers_;  ///< Launchers that run, by their call.
  bool in_turn_ = false;
  std::optional<TimePoint> stopped_at_;
  int processes_made_ = 0;
  std::uint64_t armed_ = 0;
  bool waits_ = false;  ///< After the last turn.
  TimePoint quiet_since_{};
  std::size_t calls_made_ = 0;
  std::size_t said_ = 0;
  std::vector<Answered> answers_;
  std::vector<std::string> wrong_;
};

}  // namespace muster::sim
