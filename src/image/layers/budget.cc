#include "image/layers/budget.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <ctime>

namespace muster::image {
namespace {

std::chrono::nanoseconds thread_time() {
  timespec time{};
  CHECK_THAT(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "a thread has a clock");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class CountedBytes final : public Bytes {
 public:
  CountedBytes(std::unique_ptr<Bytes> bytes, Budget& budget)
      : bytes_(std::move(bytes)), budget_(budget) {}

  Result<std::string_view> next() override {
    const std::string_view piece = TRY(bytes_->next());
    budget_.add_read(piece.size());
    return piece;
  }

 private:
  std::unique_ptr<Bytes> bytes_;
  Budget& budget_;
};

class MeteredBytes final : public Bytes {
 public:
  MeteredBytes(std::unique_ptr<Bytes> bytes, Budget& budget)
      : bytes_(std::move(bytes)), budget_(budget) {}

  Result<std::string_view> next() override {
    Meter meter(budget_);
    const std::string_view piece = TRY(bytes_->next());
    TRY(meter.look());
    return piece;
  }

 private:
  std::unique_ptr<Bytes> bytes_;
  Budget& budget_;
};

}  // namespace

Result<void> Budget::write(std::uint64_t bytes) {
  const std::uint64_t before = written_.fetch_add(bytes);
  if (bytes <= limits_.disk_bytes_max && before <= limits_.disk_bytes_max - bytes) return {};
  return fail(Errc::protocol, "the image exceeds the limit of " +
                                  std::to_string(limits_.disk_bytes_max) +
                                  " bytes on the disk (at most 3/4 of the disk's free space)");
}

Result<void> Budget::spend(std::chrono::nanoseconds time) {
  const std::chrono::nanoseconds spent(spent_.fetch_add(time.count()) + time.count());
  const std::uint64_t bytes = read_ + written_;
  const std::chrono::seconds most =
      limits_.time_max + std::chrono::seconds(bytes / limits_.bytes_each_second);
  if (spent <= most) return {};
  return fail(Errc::protocol, "unpacking the image exceeds the limit of " +
                                  std::to_string(most.count()) + " s of processor time for " +
                                  std::to_string(bytes) + " bytes read and written");
}

Result<std::shared_ptr<Budget>> budget_for(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0)
    return fail_errno("cannot examine the file system of " + folder);
  BudgetLimits limits;
  if (disk.f_blocks > 0)  // Some file systems do not know their size.
    limits.disk_bytes_max =
        std::min(limits.disk_bytes_max, std::uint64_t{disk.f_bavail} * disk.f_frsize / 4 * 3);
  return std::make_shared<Budget>(limits);
}

Meter::Meter(Budget& budget) : budget_(budget), seen_(thread_time()) {}

Result<void> Meter::look() {
  const std::chrono::nanoseconds now = thread_time();
  const std::chrono::nanoseconds time = now - seen_;
  seen_ = now;
  return budget_.spend(time);
}

std::unique_ptr<Bytes> counted(std::unique_ptr<Bytes> bytes, Budget& budget) {
  return std::make_unique<CountedBytes>(std::move(bytes), budget);
}

std::unique_ptr<Bytes> metered(std::unique_ptr<Bytes> bytes, Budget& budget) {
  return std::make_unique<MeteredBytes>(std::move(bytes), budget);
}

}  // namespace muster::image
