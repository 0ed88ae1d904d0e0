#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::jobs {

/// Amounts by name. Names are the config's: "cpu" (thousandths), "memory" (bytes), "gpu",
/// "ml.c5.xlarge" (hosts of that instance type at a time), "hosts" (of whatever type).
using Amounts = std::map<std::string, std::int64_t>;
/// By the same names, why there is less than people may expect: "nvidia.com/gpu=0 needs recovery:
/// Reset".
using Notes = std::map<std::string, std::string>;

/// `count` times what one host needs, added to `amounts`.
void add(Amounts& amounts, const Amounts& each, std::int64_t count);

struct Demand {
  std::string job;
  Amounts needs;            ///< All hosts together: a job starts with all of them or not at all.
  std::string key = {};     ///< The access key of its submitter.
  int priority = 0;         ///< 0 to priority_max.
  std::int64_t number = 0;  ///< Order of submission.
  UnixMillis submitted{0};
  UnixMillis run_time = std::chrono::hours(24);  ///< As requested.
  std::optional<UnixMillis> wait_until = {};     ///< The end of its time to wait; none: unlimited.
  /// The longest time from its start to its end, including the work after training.
  UnixMillis length = run_time;
};

struct Running {
  Demand demand;
  UnixMillis started{0};
  double share = 0;  ///< As share_of() of server/queue/queue_order.h, if the queue knows it.

  /// The latest time of its end. An overdue job is assumed to end at any moment.
  UnixMillis ends(UnixMillis now) const;
};

/// The latest start of a waiting job, if no other job gets before it in the order.
struct Reservation {
  std::string job;
  UnixMillis at{0};
  std::string after;  ///< The last job whose end it waits for.
  Amounts spare;      ///< Additional free amounts of the needed resources at that time.
};

struct Plan {
  std::vector<std::string> start;  ///< The names of the jobs to start now, in order.
  std::vector<Reservation> reservations;
};

/// Looks at waiting jobs in the order in which they should start (server/queue/queue_order.h), and
/// finds those to start now. The first job that does not fit gets a reservation: the time when
/// enough is free, if all running jobs end as late as possible. A later job starts before it only
/// if it ends by then, or uses nothing that is needed then. A later job that does not fit gets its
/// own reservation if it needs no resource of an earlier reservation. Resources that `capacity`
/// does not name are unlimited. A job that needs more than the whole capacity does not hold up
/// others. Pure.
class Pass {
 public:
  /// In the order of their starts.
  using Runs = std::map<std::int64_t, Running>;
  /// `held`: by all `runs` together. All arguments must outlive this.
  Pass(const Amounts& capacity, const Runs& runs, const Amounts& held, UnixMillis now)
      : capacity_(capacity), runs_(runs), held_(held), now_(now) {}

  /// Looks at the next job in the order. Returns the longest length with which a later job with the
  /// same needs can still matter in this pass: max() for any length, less than 0 for none.
  UnixMillis look_at(const Demand& job);
  const Plan& plan() const { return plan_; }

 private:
  void start(const Demand& job);
  std::optional<Reservation> reservation_for(const Demand& job) const;

  const Amounts& capacity_;
  const Runs& runs_;
  Amounts held_;
  UnixMillis now_;
  std::vector<const Demand*> started_;
  Plan plan_;
};

/// The names of the resources in `needs` for which `held` leaves too little. Pure.
std::vector<std::string> short_of(const Amounts& capacity, const Amounts& held,
                                  const Amounts& needs);

/// True if `held` leaves enough of each resource in `needs`. Pure.
bool fits(const Amounts& capacity, const Amounts& held, const Amounts& needs);
/// True if there is room for the job in addition to the reserved one. Pure.
bool spares(const Reservation& reserved, const Demand& job);
/// True if a job that starts now is out of the way when the reserved one starts. Pure.
bool leaves(const Reservation& reserved, const Demand& job, UnixMillis now);

/// The resources in `needs` that exceed the whole `capacity`: one line each, in the config's words,
/// "gpus: 8 requested, 4 available", with the resource's note. Empty for a job that can run. Pure.
std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs,
                                const Notes& notes = {});

/// "gpus: 4 requested, 1 of 8 free" for each resource that is short, with its note. Pure.
std::vector<std::string> lacks(const Amounts& capacity, const Amounts& held, const Amounts& needs,
                               const Notes& notes = {});

}  // namespace muster::jobs
