#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/queue/queue_order.h"
#include "server/queue/schedule.h"

namespace muster::jobs {

/// The state of waiting jobs at one moment.
struct Outlook {
  UnixMillis now{0};
  Plan plan;
  std::map<std::string, double> scores;  ///< By key, as Queue::scores().
};

/// The waiting jobs, and the running jobs that hold resources. A name occurs once.
///
/// The cost of start() depends on the number of jobs that can start, the keys and the different
/// needs of waiting jobs. The order of a key is recomputed when its jobs change; everything else
/// uses these orders.
///
/// Pure.
class Queue {
 public:
  /// `capacity`: the limit for all jobs together; a resource that it does not list has no limit.
  explicit Queue(Amounts capacity, QueueRules rules = {}, Notes notes = {});
  Queue(const Queue&) = delete;  // Orders point to jobs.
  Queue& operator=(const Queue&) = delete;

  /// Adds a waiting job. Its `number` is assigned here, after all jobs that were added before, or
  /// is `kept`.
  void add(Demand demand, std::int64_t kept = 0);
  /// Reserves the numbers 1 to `count` for jobs that were submitted before all others and are added
  /// later. Call first.
  void keep_numbers(std::int64_t count);
  /// Adds a running job, which an earlier server started.
  void take_up(Demand demand, UnixMillis started);
  /// A job of an earlier server that has ended or was resumed: the use of its key, and when its
  /// line last moved. Call after add() of all waiting jobs.
  struct Past {
    std::string key;
    int priority = 0;
    double share = 0;  ///< As share_of().
    UnixMillis submitted{0};
    UnixMillis started{0};
    std::optional<UnixMillis> ended;  ///< None: it is running.
  };
  void remember(const Past& past);

  /// Starts the jobs whose turn it is, and returns them in order. From now on they hold their
  /// resources.
  std::vector<std::string> start(UnixMillis now);
  /// Removes a waiting job. False if it did not wait.
  bool withdraw(const std::string& job);
  /// The jobs that have reached their maximum waiting time, in order of submission.
  std::vector<std::string> waited_out(UnixMillis now) const;
  /// The next time at which a job reaches it; none: never.
  std::optional<UnixMillis> next_waited_out() const;
  /// A running job has ended: releases its resources.
  void end(const std::string& job, UnixMillis now);
  /// False if the job does not wait.
  bool set_priority(const std::string& job, int priority);

  /// The place of `job` among the waiting jobs, what it waits for, which job is before it and why,
  /// and its latest start if known: "place 1 of 3; gpus: 4 requested, 1 of 8 free; starts when
  /// train-3 ends, by 14:05 UTC at the latest". Empty if it does not wait.
  std::string why_waiting(const std::string& job, UnixMillis now) const;
  /// The place, from 1; none if the job does not wait.
  std::optional<std::size_t> place(const std::string& job, UnixMillis now) const;
  /// The first `most` waiting jobs, in order. Valid until the queue changes.
  std::vector<Place> in_order(UnixMillis now, std::size_t most) const;
  /// None if the job does not wait.
  const Demand* waiting(const std::string& job) const;
  bool runs(const std::string& job) const { return numbers_.contains(job); }
  bool waits(const std::string& job) const { return waiting_.contains(job); }

  /// Another limit for all jobs together, from now on, and why there is less than people expect;
  /// jobs that run keep what they hold. False if nothing changes.
  bool set_limit(const std::string& resource, std::int64_t limit, const std::string& note);
  /// True if a waiting job needs some of it.
  bool is_awaited(const std::string& resource) const;
  const Amounts& capacity() const { return capacity_; }
  const Notes& notes() const { return notes_; }
  const Pass::Runs& running() const { return running_; }
  std::size_t waiting_count() const { return waiting_.size(); }
  std::size_t waiting_count(const std::string& key) const;
  /// By name and by key.
  const std::map<std::string, Waiting>& all_waiting() const { return waiting_; }
  const std::map<std::string, KeyOrder>& orders() const { return orders_; }
  /// By key, for jobs that have ended.
  const std::map<std::string, Use>& use() const { return use_; }
  /// The use that fair share compares, by key: current and recent use. A key without use may be
  /// missing. Multiples of 2^-30.
  std::map<std::string, double> scores(UnixMillis now) const;
  /// The jobs that start() would start, and its reservations.
  const Outlook& outlook(UnixMillis now) const;
  /// Jobs that the last pass examined individually: a measure of work, for tests.
  std::size_t looks() const { return looks_; }

 private:
  /// Data that jobs with the same needs share.
  struct Kind {
    Amounts needs;
    std::size_t count = 0;
    std::map<UnixMillis, std::size_t> lengths;  ///< The number of jobs of each length.
  };
  struct Own {
    const Place* place = nullptr;
    std::size_t index = 0;  ///< The index in its key's order.
  };
  using Deadline = std::tuple<UnixMillis, std::int64_t, const Waiting*>;

  Plan pass(const std::map<std::string, double>& scores, UnixMillis now) const;
  void begin(const std::string& job, UnixMillis now);
  void promise(const std::vector<Reservation>& reservations);
  void run(Demand demand, UnixMillis started);
  Demand forget(std::map<std::string, Waiting>::iterator job);
  std::size_t kind_for(const Amounts& needs);
  Own own_place(const Waiting& job, UnixMillis now) const;
  const Place* first_ahead(const Waiting& job, const Own& own, const Outlook& outlook) const;

  Amounts capacity_;
  QueueRules rules_;
  Notes notes_;
  std::map<std::string, Waiting> waiting_;  ///< By name.
  std::map<std::string, KeyOrder> orders_;  ///< By key, for keys with waiting jobs.
  std::vector<Kind> kinds_;                 ///< An entry without jobs is reused.
  std::map<Amounts, std::size_t> kind_of_;  ///< Contains the kinds with jobs.
  std::vector<std::size_t> free_kinds_;
  std::set<Deadline> deadlines_;
  std::set<std::string> promised_;
  Pass::Runs running_;
  std::map<std::string, std::int64_t> numbers_;  ///< Running jobs, by name.
  Amounts held_;
  std::map<std::string, Use> use_;
  std::int64_t added_ = 0;
  std::int64_t started_ = 0;
  mutable std::size_t looks_ = 0;
  /// The current result, or one of the last second if nothing has changed since.
  mutable std::optional<Outlook> outlook_;
};

}  // namespace muster::jobs
