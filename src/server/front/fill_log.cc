#include "server/front/fill_log.h"

#include "base/time.h"

namespace muster::server {
namespace {

constexpr Duration pause = std::chrono::seconds(2);

}  // namespace

store::FillProgress logged_fill(Log& log) {
  return [&log, next = TimePoint()](std::int64_t done, std::int64_t all) mutable {
    const TimePoint now = Clock::now();
    if (now < next && done < all) return;
    next = now + pause;
    log.info("runs table: added " + std::to_string(done) + " of " + std::to_string(all) +
             " jobs of an earlier version");
  };
}

}  // namespace muster::server
