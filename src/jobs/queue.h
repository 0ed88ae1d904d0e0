#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/queue_outlook.h"

namespace muster::jobs {

/// The jobs that wait for their turn, and those that hold what they need. A name is in it once.
///
/// Pure.
class Queue {
 public:
  /// `capacity`: what all jobs together may hold; a resource that it does not name has no limit.
  explicit Queue(Amounts capacity, QueueRules rules = {});

  /// The job waits. Its `number` is given here: it came after all that were added before.
  void add(Demand demand);
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
  /// The jobs that have waited as long as they may, in their order.
  std::vector<std::string> waited_out(UnixMillis now) const;
  /// When the next one will have; none: never.
  std::optional<UnixMillis> next_waited_out() const;
  /// A job that ran has ended: what it held is free.
  void end(const std::string& job, UnixMillis now);
  /// False if the job does not wait.
  bool set_priority(const std::string& job, int priority);

  /// See why_waiting() of jobs/queue_outlook.h.
  std::string why_waiting(const std::string& job, UnixMillis now) const;
  /// From 1 on; none if the job does not wait.
  std::optional<std::size_t> place(const std::string& job, UnixMillis now) const;
  /// All that wait, in their order.
  std::vector<std::string> in_order(UnixMillis now) const;
  /// None if the job does not wait.
  const Demand* waiting(const std::string& job) const;
  bool runs(const std::string& job) const;
  bool waits(const std::string& job) const;

  const Standing& standing() const { return standing_; }

 private:
  /// As of now, or within the last second and nothing has changed since.
  const Outlook& outlook_at(UnixMillis now) const;
  void begin(const std::string& job, UnixMillis now);

  QueueRules rules_;
  Standing standing_;
  std::int64_t added_ = 0;
  mutable std::optional<Outlook> outlook_;
};

}  // namespace muster::jobs
