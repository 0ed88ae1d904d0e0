#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/forward_time.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "engine/slurm/queries.h"

namespace muster::cluster {

/// An action that an attempt requests.
struct Action {
  enum class Kind {
    deliver,  ///< Send the job to its nodes.
    begin,    ///< All stewards have joined: let them start their hosts.
    stop,     ///< Stop the host, with `grace`.
    end,      ///< End the host at once; nothing of it counts any more.
    give,     ///< The host has ended: fetch its results.
    done,     ///< The host's node is no longer needed.
    look,     ///< Query Slurm now.
    cancel,   ///< Cancel the job in Slurm.
    tell,     ///< Report `event`.
  };
  Kind kind = Kind::look;
  std::string host{};  ///< For actions on one host.
  std::chrono::milliseconds grace{0};
  engine::Event event{};
};
using Actions = std::vector<Action>;

/// Known facts about a host; a restarted engine knows them, too.
struct HostState {
  std::string name;
  std::string node{};     ///< Empty until its steward has joined.
  std::string address{};  ///< The address at which the job's other hosts reach it.
  std::optional<engine::Event> started{};
  std::optional<engine::Event> end{};  ///< As it was reported.
  /// Results: `to_come --> here | lost`; `lost --> here` if a node was given up too soon.
  enum class Results { to_come, here, lost };
  Results results = Results::to_come;
  std::string not_given{};  ///< Why the results could not be fetched, if known.
};

/// One attempt of a job, from its submission to the last host's end. Takes reports of its stewards,
/// over their links, and of Slurm; returns events and actions. The links have priority: Slurm's
/// word counts where they are silent (docs/decisions/0047-slurm.md).
///
/// Its independent states; a host's end (HostState::end) is reported once and stays.
///
///     Delivery:  waiting --Slurm runs it--> delivering --on_delivered--> delivered
///
///     Start:     awaited --all joined--> begun
///                begun_before --all joined--> begun   (started by an earlier engine, whose word
///                                                      may not have reached all)
///
///     InSlurm:   unseen --its row--> shown --its end, no row--> over
///                unseen --no row for forget_max---------------> over
///                unseen, shown --settled, and nodes still there--> cancelled
///
/// and for each host
///
///     Link:      awaited --> open <--> silent --silence_max--> given_up --> open
///     Asked:     nothing --> stop --> end,  nothing --> end
///
/// Pure: callers pass the time; `now` must not go back from one event to the next
/// (base/forward_time.h).
class Attempt {
 public:
  struct Times {
    Duration join_max = std::chrono::minutes(2);     ///< From the delivery to the last steward.
    Duration silence_max = std::chrono::minutes(5);  ///< A link is silent, and Slurm knows nothing.
    Duration over_max = std::chrono::seconds(10);    ///< For links after Slurm reports the end.
    Duration end_max = std::chrono::seconds(3);      ///< For a steward to end at once.
    Duration forget_max = std::chrono::seconds(20);  ///< For Slurm to show a job that it accepted.
  };
  /// `hosts` in the job's order; some may have ended. `delivered`: an earlier engine has delivered
  /// the job. `holds`: after a lost host, the nodes of the others are kept for another attempt.
  Attempt(int number, std::vector<HostState> hosts, bool delivered, Times times, TimePoint now,
          bool holds = false);

  /// Slurm's row of the job, or none if Slurm does not list it. Do not call it after a query that
  /// failed.
  Actions on_queue(const std::optional<slurm::QueuedJob>& job, UnixMillis time, TimePoint now);
  Actions on_delivered(const Result<void>& done, UnixMillis time, TimePoint now);

  // Events from the host's link.
  Actions on_joined(const std::string& host, const std::string& node, const std::string& address,
                    UnixMillis time);
  /// A link that was silent is open again.
  Actions on_back(const std::string& host, UnixMillis time);
  /// Another process sent SIGTERM to the host's steward.
  Actions on_signalled(const std::string& host);
  /// Slurm has explained the signal: it takes nodes away for another job.
  Actions on_preempted();
  Actions on_silent(const std::string& host, UnixMillis heard, TimePoint now);
  Actions on_ended(const std::string& host, job::Outcome outcome, UnixMillis time, TimePoint now);
  /// The host's results are here, or `why_not`.
  Actions on_given(const std::string& host, const std::string& why_not);

  // Requests.
  Actions stop(const std::string& host, std::chrono::milliseconds grace, UnixMillis time);
  Actions destroy(const std::string& host, UnixMillis time, TimePoint now);

  Actions on_time(UnixMillis time, TimePoint now);
  std::optional<TimePoint> next_deadline() const;

  /// All hosts have ended.
  bool over() const;
  /// As over(), and no results are outstanding.
  bool settled() const;
  /// Slurm may start or end it soon: query Slurm often.
  bool moves() const;
  /// A host was lost.
  bool lost_any() const;
  const std::vector<HostState>& states() const { return states_; }
  /// The current state, as events for a process that attaches later.
  std::vector<engine::Event> present() const;

 private:
  enum class Delivery { waiting, delivering, delivered };
  enum class Start { awaited, begun_before, begun };
  enum class InSlurm { unseen, shown, over, cancelled };
  enum class Link { awaited, open, silent, given_up };
  enum class Asked { nothing, stop, end };
  /// An end that is not reported until Slurm names its cause, or fails to in time.
  struct Held {
    engine::Event event;
    TimePoint until;
  };
  struct Host {
    Link link = Link::awaited;
    TimePoint silent_since{};  ///< Counts for a silent link.
    Asked asked = Asked::nothing;
    TimePoint end_by{};      ///< If its end was requested and is not reported yet.
    bool signalled = false;  ///< By a process other than muster.
    UnixMillis heard{0};     ///< The time of its last message.
    std::optional<Held> held{};
  };
  std::size_t index(const std::string& host) const;
  void tell(Actions& actions, engine::Event event) const;
  void tell_held(Actions& actions, std::size_t host);
  engine::Event slurms_word() const;
  void end_host(Actions& actions, std::size_t host, engine::Event event);
  void gone(Actions& actions, std::size_t host, engine::Event event, UnixMillis time);
  void all_gone(Actions& actions, const engine::Event& event, UnixMillis time);
  bool has_begun() const { return start_ != Start::awaited; }
  bool ends(std::size_t host) const;
  void give_up_results();
  bool none_over() const;
  bool is_killed(std::size_t host, const job::Outcome& outcome) const;
  void begin_if_all_came(Actions& actions, UnixMillis time);
  void finish(Actions& actions);
  void waits(Actions& actions, const std::string& text, UnixMillis time);
  void tell_health(Actions& actions, const std::string& text, UnixMillis time);
  void on_over(Actions& actions, const slurm::QueuedJob& job, UnixMillis time, TimePoint now);

  int number_;
  Times times_;
  ForwardTime time_;
  bool holds_;
  std::vector<HostState> states_;
  std::vector<Host> hosts_;  ///< In the order of states_.
  Delivery delivery_ = Delivery::waiting;
  Start start_ = Start::awaited;
  InSlurm in_slurm_ = InSlurm::unseen;
  bool preempted_ = false;  ///< Slurm takes nodes away, whatever end it reports for the job.
  TimePoint since_;         ///< When it was submitted, or found again.
  std::string waits_for_;
  std::string health_;
  std::optional<TimePoint> join_by_;
  slurm::QueuedJob last_word_;        ///< Slurm's last row, once the job has ended.
  std::optional<TimePoint> over_by_;  ///< Until then, links may report more.
  std::string unbrought_;             ///< Why nothing could be delivered to a job that has ended,
  std::optional<TimePoint> unbrought_by_{};  ///< reported then if Slurm gives no other reason.
};

/// Why a job waits and until when, for a person.
std::string waiting_text(const slurm::QueuedJob& job);

}  // namespace muster::cluster
