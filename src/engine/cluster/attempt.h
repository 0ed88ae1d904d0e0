#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "engine/slurm/queries.h"

namespace muster::cluster {

/// What is to be done about an attempt.
struct Action {
  enum class Kind {
    deliver,  ///< Bring the job to its nodes.
    begin,    ///< All stewards are there: they may start their hosts.
    stop,     ///< The host is to be stopped, with `grace`.
    end,      ///< The host is to be ended at once; nothing of it counts any more.
    give,     ///< The host is over: its results are to come.
    done,     ///< Nothing more is wanted of the host's node.
    look,     ///< Slurm is to be asked now.
    cancel,   ///< The job is to be taken out of Slurm.
    tell,     ///< `event` has happened.
  };
  Kind kind = Kind::look;
  std::string host{};  ///< For what is done to one.
  std::chrono::milliseconds grace{0};
  engine::Event event{};
};
using Actions = std::vector<Action>;

/// What is known of a host, also by an engine that is started again.
struct HostState {
  std::string name;
  std::string node{};     ///< Empty until its steward has come.
  std::string address{};  ///< Where the job's other hosts reach it.
  std::optional<engine::Event> started{};
  std::optional<engine::Event> end{};  ///< As it was told.
  /// What it left: `to_come --> here | lost`; `lost --> here` where a node was given up too soon.
  enum class Results { to_come, here, lost };
  Results results = Results::to_come;
  std::string not_given{};  ///< Why that could not be brought, where that is known.
};

/// One attempt of a job, from its submission to the last host's end: from what its stewards say by
/// their links and what Slurm says, to what happened and what is to be done. The links are the
/// truth: Slurm counts where they are silent (docs/decisions/0047-slurm.md).
///
/// Its states, each for itself; a host's end (HostState::end) is told once and stays.
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
/// and of each host
///
///     Link:      awaited --> open <--> silent --silence_max--> given_up --> open
///     Asked:     nothing --> stop --> end,  nothing --> end
///
/// Pure: callers pass the time; `now` must not go back.
class Attempt {
 public:
  struct Times {
    Duration join_max = std::chrono::minutes(2);     ///< From the delivery to the last steward.
    Duration silence_max = std::chrono::minutes(5);  ///< A link is silent, and Slurm knows nothing.
    Duration over_max = std::chrono::seconds(10);    ///< For links after Slurm's word of the end.
    Duration end_max = std::chrono::seconds(3);      ///< For a steward to end at once.
    Duration forget_max = std::chrono::seconds(20);  ///< For Slurm to show a job that it took.
  };
  /// `hosts` in the job's order; some may be over. `delivered`: the job was brought by an earlier
  /// engine. `holds`: where a host was lost the nodes of the others are kept for another attempt.
  Attempt(int number, std::vector<HostState> hosts, bool delivered, Times times, TimePoint now,
          bool holds = false);

  /// Slurm's row of the job, or none if Slurm does not list it. Do not call it after a query that
  /// failed.
  Actions on_queue(const std::optional<slurm::QueuedJob>& job, UnixMillis time, TimePoint now);
  Actions on_delivered(const Result<void>& done, UnixMillis time, TimePoint now);

  // What comes by the host's link.
  Actions on_joined(const std::string& host, const std::string& node, const std::string& address,
                    UnixMillis time);
  /// A link that was silent is open again.
  Actions on_back(const std::string& host, UnixMillis time);
  /// Another process sent SIGTERM to the host's steward.
  Actions on_signalled(const std::string& host);
  /// Slurm's answer to whose signal that was: nodes are taken away for another job.
  Actions on_preempted();
  Actions on_silent(const std::string& host, UnixMillis heard, TimePoint now);
  Actions on_ended(const std::string& host, job::Outcome outcome, UnixMillis time, TimePoint now);
  /// What the host left is here, or `why_not`.
  Actions on_given(const std::string& host, const std::string& why_not);

  // What is wanted.
  Actions stop(const std::string& host, std::chrono::milliseconds grace, UnixMillis time);
  Actions destroy(const std::string& host, UnixMillis time, TimePoint now);

  Actions on_time(UnixMillis time, TimePoint now);
  std::optional<TimePoint> next_deadline() const;

  /// All hosts are over.
  bool over() const;
  /// As over(), and no result is still to come.
  bool settled() const;
  /// Slurm may start or end it soon: it is to be asked often.
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
  /// An end that is not told until Slurm says whose doing it was, or does not in time.
  struct Held {
    engine::Event event;
    TimePoint until;
  };
  struct Host {
    Link link = Link::awaited;
    TimePoint silent_since{};  ///< Counts for a silent link.
    Asked asked = Asked::nothing;
    TimePoint end_by{};      ///< Where its end was asked for and is not told.
    bool signalled = false;  ///< By somebody else than us.
    UnixMillis heard{0};     ///< The last that came of it.
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
  bool holds_;
  std::vector<HostState> states_;
  std::vector<Host> hosts_;  ///< As states_.
  Delivery delivery_ = Delivery::waiting;
  Start start_ = Start::awaited;
  InSlurm in_slurm_ = InSlurm::unseen;
  bool preempted_ = false;  ///< Slurm takes nodes away, whatever it says of the job's own end.
  TimePoint since_;         ///< When it was submitted, or found again.
  std::string waits_for_;
  std::string health_;
  std::optional<TimePoint> join_by_;
  slurm::QueuedJob last_word_;        ///< Slurm's, once the job is over.
  std::optional<TimePoint> over_by_;  ///< Until then links may say more.
  std::string unbrought_;             ///< Why nothing could be brought to a job that is over,
  std::optional<TimePoint> unbrought_by_{};  ///< told at that time if Slurm does not say more.
};

/// Why a job waits and until when, for a person.
std::string waiting_text(const slurm::QueuedJob& job);

}  // namespace muster::cluster
