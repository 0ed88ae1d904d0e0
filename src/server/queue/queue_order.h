#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/queue/schedule.h"

namespace muster::jobs {

/// Who is to start before whom (docs/decisions/0035-queue.md). Pure.

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

/// How much of the machine a key had on average lately: 0 to 1, if the capacity did not shrink.
struct Use {
  double share = 0;
  UnixMillis at{0};  ///< When it was so.

  double now(UnixMillis now, const QueueRules& rules) const;
};

/// The nearest multiple of 2^-30. Sums of such numbers are exact, so that it does not matter in
/// which order the shares of a key's jobs are added, and equal use is equal.
double grain(double share);

/// The largest part of a resource that the needs are, the "dominant share": 0.25 for 1 of 4 GPUs
/// with 1 of 8 processors. 0 where nothing of it is limited. A multiple of 2^-30.
double share_of(const Amounts& capacity, const Amounts& needs);

/// What a job that began at `started` adds to its key's use by `now`.
double use_of(double share, UnixMillis started, UnixMillis now, const QueueRules& rules);

/// A job that waits, and what the order and the pass look at again and again.
struct Waiting {
  Demand demand;
  double share = 0;
  std::size_t kind = 0;   ///< The number of its needs: jobs with the same needs have the same.
  bool promised = false;  ///< See KeyOrder.
};

/// A job's place in the order of its key. The places of all keys are merged by rank().
struct Place {
  const Waiting* job = nullptr;
  std::size_t kind = 0;  ///< As the job's, next to its length: a pass skips most places by these.
  UnixMillis length{0};
  int level = 0;  ///< Priority with what waiting added, up to level_first.
  UnixMillis due{0};
  bool is_promised = false;
  double before = 0;        ///< The shares of the jobs of its key before it.
  std::int64_t number = 0;  ///< The job's; or that of the job that takes it along.

  /// What comes first sorts first. `score`: what its key holds and had lately.
  std::tuple<int, UnixMillis, bool, double, std::int64_t> rank(double score) const;
};

/// The waiting jobs of one key, in their order: higher levels first; within a level who has a
/// reservation, then by submission. On level_first whoever came there first. Merged over all keys
/// the order is: higher levels first; within a level who has a reservation, then the key that has
/// less, as if each job in turn started; then by submission.
///
/// The jobs that have reservations are "promised": they stay before the others of their level. Else
/// the start of a small job that is let past would count against its key, put another's job in the
/// place of the one that waits, and so on for ever.
class KeyOrder {
 public:
  /// `job` outlives its stay here.
  void add(const Waiting& job);
  void remove(const Waiting& job);
  /// A job's promise has changed.
  void touch() { is_made_ = false; }

  /// None where no such job waits.
  const Waiting* first_of(int priority) const;
  /// When the job before a line's first started, by priority; for lines that have jobs.
  const std::map<int, UnixMillis>& head_since() const { return head_since_; }
  void set_head_since(int priority, UnixMillis started);

  std::size_t size() const { return size_; }
  /// Made again where the time changed a level, a job went, or one came that is not the last.
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
  mutable double shares_ = 0;  ///< All places' together.
  mutable bool is_made_ = false;
  mutable UnixMillis made_{0};
  mutable UnixMillis holds_until_{0};  ///< Then a level rises.
};

}  // namespace muster::jobs
