#include "server/cloudwatch/metric_scraper.h"

#include <algorithm>

namespace muster::cloudwatch {
namespace {

// Limits of one call.
constexpr std::size_t events_max = 5000;
constexpr std::size_t bytes_max = 1u << 20;
constexpr std::uint64_t work_max = MetricAllowance::a_second;
/// Storing these takes the store's thread 30 ms, or 110 ms if the steps are far apart. Values
/// without a step need one row a second.
constexpr std::int64_t steps_max = 4000;

}  // namespace

bool MetricAllowance::take(UnixMillis time, std::uint64_t work) {
  const auto passed = static_cast<std::uint64_t>(std::max<std::int64_t>((time - last_).count(), 0));
  const std::uint64_t full_after = saved_max / a_second * 1000;
  left_ = std::min(saved_max, left_ + std::min(passed, full_after) * (a_second / 1000));
  last_ = std::max(last_, time);
  if (work > left_) return false;
  left_ -= work;
  return true;
}

Result<MetricScraper::Scraped> MetricScraper::scrape(const MetricDefinitions& definitions,
                                                     const std::vector<Host>& hosts, bool ended) {
  Scraped scraped;
  std::size_t events_left = events_max;
  std::uint64_t work = 0;
  std::int64_t steps = 0;
  const auto is_enough = [&] { return work > work_max || steps >= steps_max; };
  for (const Host& host : hosts) {
    Log& log = logs_.try_emplace(host.name, Log{LogStream(host.name, {}), {}}).first->second;
    log.stream.moved_to(host.journal);
    TRY(log.stream.catch_up(ended));
    if (host.from >= log.stream.count()) continue;
    scraped.more = events_left == 0 || is_enough();
    if (scraped.more) break;
    Part part{host.name, {}, host.from};
    for (const LogEvent& event : TRY(log.stream.read(host.from, events_left, bytes_max))) {
      if (is_enough()) break;
      ++part.read_to;
      --events_left;
      const std::uint64_t cost = definitions.work_of(event.message);
      if (!log.allowance.take(event.time, cost)) {
        ++scraped.left_out;
        continue;
      }
      work += cost;
      for (store::MetricSample& sample : samples_in(definitions, event)) {
        steps += sample.step ? 1 : 0;
        part.samples.push_back(std::move(sample));
      }
    }
    scraped.more = part.read_to > host.from && part.read_to < log.stream.count();
    scraped.parts.push_back(std::move(part));
    if (scraped.more) break;
  }
  return scraped;
}

}  // namespace muster::cloudwatch
