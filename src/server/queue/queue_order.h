#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/queue/schedule.h"

namespace muster::jobs {

/// The order in which waiting jobs start (docs/decisions/0035-queue.md). Pure.

constexpr int priority_max = 9;
/// The level of a job that has waited long enough to precede every priority.
constexpr int level_first = priority_max + 1;

struct QueueRules {
  /// The first job of a line rises by one level each time it has waited this long.
  UnixMillis ageing = std::chrono::hours(6);
  /// Usage of this age counts half.
  UnixMillis half_life = std::chrono::hours(24);
};

/// The jobs of one key with one priority form a line, by order of submission.
using LineId = std::pair<std::string, int>;

/// A key's recent average share of the machine: 0 to 1, if the capacity did not shrink.
struct Use {
  double share = 0;
  UnixMillis at{0};  ///< The time of this share.

  double now(UnixMillis now, const QueueRules& rules) const;
};

/// The nearest multiple of 2^-30. Sums of such numbers are exact, so the order in which the shares
/// of a key's jobs are added does not matter, and equal use compares equal.
double grain(double share);

/// The "dominant share": the largest fraction of any resource that the needs take. It is 0.25 for 1
/// of 4 GPUs with 1 of 8 processors, and 0 if none of the resources is limited. A multiple of
/// 2^-30.
double share_of(const Amounts& capacity, const Amounts& needs);

/// The use that a job started at `started` has added to its key by `now`.
double use_of(double share, UnixMillis started, UnixMillis now, const QueueRules& rules);

/// A waiting job, with values that the order and the pass read often.
struct Waiting {
  Demand demand;
  double share = 0;
  std::size_t kind = 0;   ///< The number of its needs: jobs with the same needs have the same.
  bool promised = false;  ///< See KeyOrder.
};

/// A job's place in the order of its key. The places of all keys are merged by rank().
struct Place {
  const Waiting* job = nullptr;
  /// The job's kind, stored next to its length: a pass skips most places by these two.
  std::size_t kind = 0;
  UnixMillis length{0};
  int level = 0;  ///< Priority plus the levels gained by waiting, up to level_first.
  UnixMillis due{0};
  bool is_promised = false;
  double before = 0;        ///< The sum of the shares of its key's jobs before it.
  std::int64_t number = 0;  ///< The job's number, or that of the job it comes right after.

  /// Places that come first sort first. `score`: its key's current and recent use.
  std::tuple<int, UnixMillis, bool, double, std::int64_t> rank(double score) const;
};

/// The waiting jobs of one key, in their order: higher levels first; within a level, jobs with a
/// reservation first, then by submission. On level_first, the job that reached it first goes first.
/// The merged order of all keys is: higher levels first; within a level, jobs with a reservation
/// first, then the key with less use, as if each job in turn started; then by submission.
///
/// Jobs with a reservation are "promised": they stay before the others of their level. Otherwise,
/// the start of a small job that passes the waiting one would count against its key. That would put
/// another key's job in the place of the waiting one, and so on forever.
class KeyOrder {
 public:
  /// `job` must outlive its stay here.
  void add(const Waiting& job);
  void remove(const Waiting& job);
  /// A job's promise has changed.
  void touch() { is_made_ = false; }

  /// Null if no such job waits.
  const Waiting* first_of(int priority) const;
  /// The start of the job before each line's first job, by priority; for lines that have jobs.
  const std::map<int, UnixMillis>& head_since() const { return head_since_; }
  void set_head_since(int priority, UnixMillis started);

  std::size_t size() const { return size_; }
  /// Recomputed if the time changed a level, a job was removed, or a job was added other than at
  /// the end.
  const std::vector<Place>& places(UnixMillis now, const QueueRules& rules) const;

 private:
  struct Head;
  Head head_of(int priority, const std::vector<const Waiting*>& line, UnixMillis now,
               const QueueRules& rules) const;
  void make(UnixMillis now, const QueueRules& rules) const;

  std::map<int, std::vector<const Waiting*>> lines_;  ///< By priority; each by number.
  std::map<int, UnixMillis> head_since_;
  std::size_t size_ = 0;
  mutable std::vector<Place> places_;
  mutable double shares_ = 0;  ///< Sum over all places.
  mutable bool is_made_ = false;
  mutable UnixMillis made_{0};
  mutable UnixMillis holds_until_{0};  ///< The next time at which a level rises.
};

}  // namespace muster::jobs
