#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/cloudwatch/log_stream.h"
#include "server/cloudwatch/metrics.h"

namespace muster::cloudwatch {

/// Limits the work of a job's expressions on a host's log, by the log's own timestamps: a fixed
/// amount per second, of which unused work is saved up to a limit. The same log always gives the
/// same lines. A unit is one byte of a line tried by one instruction of an expression's program;
/// the worst that RE2 does takes some 10 ns for one. Pure.
class MetricAllowance {
 public:
  static constexpr std::uint64_t a_second = 64'000'000;
  static constexpr std::uint64_t saved_max = 8 * a_second;

  /// False: the line of `time` (not earlier than previous ones) is skipped.
  bool take(UnixMillis time, std::uint64_t work);

 private:
  UnixMillis last_{0};
  std::uint64_t left_ = saved_max;
};

/// Reads one job's logs for its metrics, each line once. Used by one thread at a time, which it may
/// block for seconds, so not the loop's.
class MetricScraper {
 public:
  struct Host {
    std::string name;
    std::string journal;     ///< The journal's current path.
    std::uint64_t from = 0;  ///< The number of the first unread event.
  };
  struct Part {
    std::string host;
    std::vector<store::MetricSample> samples;  ///< In the order of the log.
    std::uint64_t read_to = 0;
  };
  struct Scraped {
    std::vector<Part> parts;  ///< One for each host with new lines.
    bool more = false;
    std::uint64_t left_out = 0;  ///< Lines beyond the allowance.
  };
  /// Reads at most some thousand lines, one MiB, as many values with steps as are stored quickly,
  /// and half a second of the slowest work, but at least one line. `ended`: the journals no longer
  /// grow. Error: `system`.
  Result<Scraped> scrape(const MetricDefinitions& definitions, const std::vector<Host>& hosts,
                         bool ended);

 private:
  struct Log {
    LogStream stream;
    MetricAllowance allowance;
  };
  std::map<std::string, Log> logs_;  ///< By host.
};

}  // namespace muster::cloudwatch
