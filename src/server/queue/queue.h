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

/// The jobs that wait for their turn, and those that hold what they need. A name is in it once.
///
/// What start() costs depends on what can start, the keys and the different needs of waiting jobs.
/// The order of one key is made again when its jobs change; all else is asked of that.
///
/// Pure.
class Queue {
 public:
  /// `capacity`: what all jobs together may hold; a resource that it does not name has no limit.
  explicit Queue(Amounts capacity, QueueRules rules = {});
  Queue(const Queue&) = delete;  // Orders point to jobs.
  Queue& operator=(const Queue&) = delete;

  /// The job waits. Its `number` is given here: it came after all that were added before, or is
  /// `kept`.
  void add(Demand demand, std::int64_t kept = 0);
  /// 1 to `count` are kept for jobs that came before all others, and are added later. Called first.
  void keep_numbers(std::int64_t count);
  /// The job runs already: an earlier server started it.
  void take_up(Demand demand, UnixMillis started);
  /// A job of an earlier server that has ended, or been taken up: what its key used, and when its
  /// line last moved. Comes after the add() of all that wait.
  struct Past {
    std::string key;
    int priority = 0;
    double share = 0;  ///< As share_of().
    UnixMillis submitted{0};
    UnixMillis started{0};
    std::optional<UnixMillis> ended;  ///< None: it runs.
  };
  void remember(const Past& past);

  /// The jobs whose turn it is, in their order. They hold what they need from now on.
  std::vector<std::string> start(UnixMillis now);
  /// The job waits no more. False if it did not wait.
  bool withdraw(const std::string& job);
  /// The jobs that have waited as long as they may, in the order of their submission.
  std::vector<std::string> waited_out(UnixMillis now) const;
  /// When the next one will have; none: never.
  std::optional<UnixMillis> next_waited_out() const;
  /// A job that ran has ended: what it held is free.
  void end(const std::string& job, UnixMillis now);
  /// False if the job does not wait.
  bool set_priority(const std::string& job, int priority);

  /// The place of `job` among those that wait, what it waits for, whom it is behind and why, and
  /// when it starts at the latest where that is known: "place 1 of 3; gpus: 4 wanted, 1 of 8 free;
  /// starts when train-3 ends, by 14:05 UTC at the latest". Empty if it does not wait.
  std::string why_waiting(const std::string& job, UnixMillis now) const;
  /// From 1 on; none if the job does not wait.
  std::optional<std::size_t> place(const std::string& job, UnixMillis now) const;
  /// The first `most` jobs that wait, in their order. Holds until the queue changes.
  std::vector<Place> in_order(UnixMillis now, std::size_t most) const;
  /// None if the job does not wait.
  const Demand* waiting(const std::string& job) const;
  bool runs(const std::string& job) const { return numbers_.contains(job); }
  bool waits(const std::string& job) const { return waiting_.contains(job); }

  const Amounts& capacity() const { return capacity_; }
  const Pass::Runs& running() const { return running_; }
  std::size_t waiting_count() const { return waiting_.size(); }
  std::size_t waiting_count(const std::string& key) const;
  /// By name and by key.
  const std::map<std::string, Waiting>& all_waiting() const { return waiting_; }
  const std::map<std::string, KeyOrder>& orders() const { return orders_; }
  /// By key: of jobs that have ended.
  const std::map<std::string, Use>& use() const { return use_; }
  /// What fair share compares, by key: what it holds and what it had lately. A key that has nothing
  /// of either may be missing. Multiples of 2^-30.
  std::map<std::string, double> scores(UnixMillis now) const;
  /// What start() would do, and what it would promise.
  const Outlook& outlook(UnixMillis now) const;
  /// Jobs that the last pass looked at one by one: a measure of work, for tests.
  std::size_t looks() const { return looks_; }

 private:
  /// What jobs with the same needs have in common.
  struct Kind {
    Amounts needs;
    std::size_t count = 0;
    std::map<UnixMillis, std::size_t> lengths;  ///< How many jobs have each.
  };
  struct Own {
    const Place* place = nullptr;
    std::size_t index = 0;  ///< In the order of its key.
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
  std::map<std::string, Waiting> waiting_;  ///< By name.
  std::map<std::string, KeyOrder> orders_;  ///< By key: of those that have jobs that wait.
  std::vector<Kind> kinds_;                 ///< One without jobs is used again.
  std::map<Amounts, std::size_t> kind_of_;  ///< Has the kinds with jobs.
  std::vector<std::size_t> free_kinds_;
  std::set<Deadline> deadlines_;
  std::set<std::string> promised_;
  Pass::Runs running_;
  std::map<std::string, std::int64_t> numbers_;  ///< Jobs that run, by name.
  Amounts held_;
  std::map<std::string, Use> use_;
  std::int64_t added_ = 0;
  std::int64_t started_ = 0;
  mutable std::size_t looks_ = 0;
  /// As of now, or within the last second and nothing has changed since.
  mutable std::optional<Outlook> outlook_;
};

}  // namespace muster::jobs
