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

/// `count` times what one host needs, added to `amounts`.
void add(Amounts& amounts, const Amounts& each, std::int64_t count);

struct Demand {
  std::string job;
  Amounts needs;            ///< All hosts' together: a job starts with all or not at all.
  std::string key = {};     ///< The access key that asked for it.
  int priority = 0;         ///< 0 to priority_max.
  std::int64_t number = 0;  ///< Order of submission.
  UnixMillis submitted{0};
  UnixMillis run_time = std::chrono::hours(24);  ///< As it was asked for.
  std::optional<UnixMillis> wait_until = {};     ///< Then it has waited long enough; none: never.
  UnixMillis length = run_time;  ///< From its start to its end, at the latest: with what follows.
};

struct Running {
  Demand demand;
  UnixMillis started{0};
  double share = 0;  ///< As share_of() of server/queue/queue_order.h, where the queue knows it.

  /// The latest time of its end. One that is overdue is taken to end at any moment.
  UnixMillis ends(UnixMillis now) const;
};

/// When a job that has to wait starts at the latest, if no other comes before it in the order.
struct Reservation {
  std::string job;
  UnixMillis at{0};
  std::string after;  ///< The job whose end is the last that it waits for.
  Amounts spare;      ///< How much of the needed resources is free at that time in addition.
};

struct Plan {
  std::vector<std::string> start;  ///< The names of the jobs to start now, in order.
  std::vector<Reservation> reservations;
};

/// Looks at jobs that wait, in the order in which they should start (server/queue/queue_order.h),
/// and finds those to start now. The first that does not fit gets a reservation: the time when, by
/// the latest ends of what runs, enough is free. One behind it starts before it only where it ends
/// by then, or takes nothing that is needed then. A further one gets a reservation of its own if it
/// needs nothing that an earlier reservation is about. A resource that `capacity` does not name has
/// no limit; a job that needs more than there is at all holds up nobody. Pure.
class Pass {
 public:
  /// By the order of their starts.
  using Runs = std::map<std::int64_t, Running>;
  /// `held`: by `runs` together. All of it outlives this.
  Pass(const Amounts& capacity, const Runs& runs, const Amounts& held, UnixMillis now)
      : capacity_(capacity), runs_(runs), held_(held), now_(now) {}

  /// The next job in the order. Returns how long a job with the same needs that comes behind it may
  /// be, else nothing can come of it in this pass: max() for any length, less than 0 for none.
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

/// What of `needs` the `held` leave too little of: names, as in Amounts. Pure.
std::vector<std::string> short_of(const Amounts& capacity, const Amounts& held,
                                  const Amounts& needs);

/// True if `held` leaves what `needs` names, or `spare` has it. Pure.
bool fits(const Amounts& capacity, const Amounts& held, const Amounts& needs);
/// True if there is room for the job in addition to the reserved one. Pure.
bool spares(const Reservation& reserved, const Demand& job);
/// True if a job that starts now is out of the way when the reserved one starts. Pure.
bool leaves(const Reservation& reserved, const Demand& job, UnixMillis now);

/// What of `needs` goes beyond the whole of `capacity`: one line each, in the config's words,
/// "gpus: 8 wanted, 4 there". Empty for a job that can run. Pure.
std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs);

/// "gpus: 4 wanted, 1 of 8 free" for each of `names`. Pure.
std::vector<std::string> lacks(const Amounts& capacity, const Amounts& held, const Amounts& needs);

}  // namespace muster::jobs
