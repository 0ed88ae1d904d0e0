#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "host/coordinate/first_cause.h"
#include "host/coordinate/leader_call.h"
#include "host/coordinate/member_call.h"

namespace muster::sim {

/// What happens to a host, beside the job itself.
struct Host {
  std::string name;
  bool comes = true;
  bool right_key = true;
  int version = coordinate::wire_version;
  Duration arrives{};  ///< When its process starts.
};

/// How a host's process ended, as it saw it.
struct End {
  TimePoint at;
  std::string why;  ///< "end", "lost: ...", "failed: ...", "gave up: ...", "verdict"
};

/// Hosts that run the real state machines over a network of virtual time. Everything comes from
/// the seed. The first host leads.
class World {
 public:
  World(std::uint64_t seed, std::vector<Host> hosts, Duration join_deadline);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  TimePoint now() const { return now_; }
  void at(TimePoint time, std::function<void()> event);
  /// Runs until nothing is left to happen or `until`, or far too much has happened.
  void run(TimePoint until);
  std::size_t pick(std::size_t below) { return random_() % below; }
  Duration between(Duration least, Duration most);

  // Faults. Hosts by index; 0 is the leader.
  /// Trouble that a job must get over: resets before the start, short cuts and pauses.
  void add_noise();
  void kill(std::size_t host);
  void freeze(std::size_t host, TimePoint until);
  void cut(std::size_t host, TimePoint until);
  /// The host's session breaks; `half`: only the host itself gets to know.
  void reset(std::size_t host, bool half);
  /// A process of the host ended; its `train` reports it to the leader.
  void process_ends(std::size_t host, job::Verdict verdict);

  // The job, for a test that plays one: what else goes through the sessions.
  /// A frame of the job's own came, at the leader from `member` or at `member` from the leader.
  std::function<void(std::size_t member, const Frame&frame)> on_leader_frame, on_member_frame;
  std::function<void(const std::string& host)> on_lost;
  void post_to_leader(std::size_t member, Frame frame);
  void post_to_member(std::size_t member, Frame frame);
  /// Runs `event` on a host as soon as it can: not while frozen, never once dead or ended.
  void on_host(std::size_t host, std::function<void()> event);
  bool alive(std::size_t host) const { return !nodes_[host].dead && !nodes_[host].end; }
  /// The leader hears of a failure, or that all has ended well.
  void add_failure(job::Verdict verdict);
  void all_ended();

  bool started() const { return started_at_.has_value(); }
  std::optional<TimePoint> started_at() const { return started_at_; }
  /// Called once, when the leader starts the job.
  std::function<void()> on_start;
  const std::optional<job::Verdict>& verdict() const { return verdict_; }
  const std::optional<End>& end_of(std::size_t host) const { return nodes_[host].end; }
  /// The hosts whose session was broken at the moment of the start, before either side noticed.
  const std::vector<std::string>& broken_at_start() const { return broken_at_start_; }
  std::vector<std::string> missing() const { return leader_->missing(); }
  std::size_t say_count() const { return say_count_; }

 private:
  struct Node {
    Host host;
    std::unique_ptr<coordinate::MemberCall> call;  ///< None for the leader.
    bool running = false;
    bool dead = false;
    TimePoint frozen_until{};
    TimePoint cut_until{};
    std::uint64_t link = 0;   ///< The host's connection, 0: none.
    std::uint64_t armed = 0;  ///< Guards against timers that were set again.
    std::optional<End> end;
  };
  struct Link {
    std::size_t member = 0;
    bool broken = false;
    bool at_leader = false;  ///< The leader knows it.
    TimePoint to_leader{};   ///< When the last message that way arrives: they keep their order.
    TimePoint to_member{};
  };
  struct Event {
    TimePoint time;
    std::uint64_t number;
    std::function<void()> run;
    bool operator>(const Event& other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };

  Duration delay() {
    return between(std::chrono::microseconds(100), std::chrono::milliseconds(80));
  }
  /// As on_host, for what crosses the network between the leader and `member`.
  void over_network(std::size_t member, std::size_t to, std::function<void()> event);
  void start_host(std::size_t index);
  void send_to_leader(std::uint64_t link, Frame frame);
  void send_to_member(std::uint64_t link, Frame frame);
  void break_link(std::uint64_t link, bool tell_leader, bool tell_member);
  void connect(std::size_t member, TimePoint deadline);
  void meet(std::size_t member);
  void leader_turn();
  void carry_out(const coordinate::LeaderCall::Action& action);
  void member_turn(std::size_t member);
  void carry_out(std::size_t member, const coordinate::MemberCall::Action& action);
  void member_frame(std::size_t member, const Frame& frame);
  void judge();
  void conclude(job::Verdict verdict);
  void end(std::size_t host, std::string why);
  void note_start();

  std::mt19937_64 random_;
  TimePoint now_{std::chrono::hours(1)};
  Duration join_deadline_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t events_made_ = 0;
  std::vector<Node> nodes_;
  std::map<std::uint64_t, Link> links_;
  std::uint64_t links_made_ = 0;
  std::unique_ptr<coordinate::LeaderCall> leader_;
  coordinate::FirstCause cause_;
  std::map<std::string, job::Verdict> told_;  ///< Verdicts on their way, by payload.
  std::optional<job::Verdict> verdict_;
  std::optional<TimePoint> started_at_;
  std::vector<std::string> broken_at_start_;
  std::size_t say_count_ = 0;
};

}  // namespace muster::sim
