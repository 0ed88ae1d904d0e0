#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "image/layers/bytes.h"

namespace muster::image {

/// Limits for bringing one image.
struct BudgetLimits {
  /// Bytes written to the disk: packed layers, files, copies from lower layers, and what each name
  /// takes besides its bytes.
  std::uint64_t disk_bytes_max = 512ull << 30;
  std::chrono::seconds time_max{60};            ///< Processor time, and 1 s more for
  std::uint64_t bytes_each_second = 10u << 20;  ///< so many bytes read or written.
  std::uint64_t names_bytes_max = 256u << 20;   ///< Memory for names of one layer.
};

/// What bringing one image has taken of the machine so far. Sizes that a manifest or a header
/// claims count for nothing: only bytes that are read and written do.
///
/// Any number of threads.
class Budget {
 public:
  explicit Budget(BudgetLimits limits) : limits_(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Packed bytes that were read.
  void add_read(std::uint64_t bytes) { read_ += bytes; }
  /// Bytes that are about to be written. Error: `protocol` beyond the limit.
  Result<void> write(std::uint64_t bytes);
  /// Processor time that was used. Error: `protocol` beyond the limit.
  Result<void> spend(std::chrono::nanoseconds time);

  const BudgetLimits& limits() const { return limits_; }
  std::uint64_t written() const { return written_; }

 private:
  BudgetLimits limits_;
  std::atomic<std::uint64_t> read_ = 0;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::int64_t> spent_ = 0;  ///< ns
};

/// A budget for an image that comes into `folder`: three quarters of the disk's free bytes at most.
/// Error: `system`.
Result<std::shared_ptr<Budget>> budget_for(const std::string& folder);

/// The processor time of this thread, counted for an image from the meter's construction on. Used
/// in one thread.
class Meter {
 public:
  explicit Meter(Budget& budget);
  /// For each step of a loop: the clock is read at some of the calls. Error: see Budget::spend().
  Result<void> tick() { return ++ticks_ % ticks_each_look == 0 ? look() : Result<void>(); }
  Result<void> look();

 private:
  static constexpr unsigned ticks_each_look = 64;
  Budget& budget_;
  std::chrono::nanoseconds seen_;
  unsigned ticks_ = 0;
};

/// `bytes`, each of which counts as read. `budget` outlives them, here and below.
std::unique_ptr<Bytes> counted(std::unique_ptr<Bytes> bytes, Budget& budget);
/// `bytes`; the processor time that they take of the thread that asks for them counts.
std::unique_ptr<Bytes> metered(std::unique_ptr<Bytes> bytes, Budget& budget);

}  // namespace muster::image
