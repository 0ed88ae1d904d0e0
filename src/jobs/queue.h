#pragma once

#include <string>
#include <vector>

#include "jobs/schedule.h"

namespace muster::jobs {

/// The jobs that wait for their turn, and those that hold what they need. A name is in it once.
///
/// Pure.
class Queue {
 public:
  /// `capacity`: what all jobs together may hold; a resource that it does not name has no limit.
  explicit Queue(Amounts capacity) : capacity_(std::move(capacity)) {}

  /// The job waits, behind all that wait already.
  void add(Demand demand);
  /// The job runs already: an earlier server started it.
  void take_up(Demand demand);
  /// The jobs whose turn it is, in their order: startable(). They hold what they need from now on.
  std::vector<std::string> start();
  /// The job waits no more. False if it did not wait.
  bool withdraw(const std::string& job);
  /// A job that ran has ended: what it held is free.
  void end(const std::string& job);

  /// See why_waiting() of jobs/schedule.h.
  std::string why_waiting(const std::string& job) const;
  bool runs(const std::string& job) const;
  bool waits(const std::string& job) const;

 private:
  Amounts capacity_;
  std::vector<Demand> waiting_;  ///< In order of submission.
  std::vector<Demand> running_;
};

}  // namespace muster::jobs
