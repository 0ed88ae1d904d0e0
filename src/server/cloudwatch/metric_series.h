#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/store/store.h"

namespace muster::cloudwatch {

/// A metric over time in buckets of equal width, as many as a chart has pixels. Each has its
/// minimum and maximum, so a single outlier is visible at any zoom level. Pure.
class MetricBuckets {
 public:
  /// [from, to) in seconds since 1970, from < to, in 1 to `most` buckets of whole seconds.
  MetricBuckets(std::int64_t from, std::int64_t to, std::int64_t most);

  /// Samples outside the time range are ignored.
  void add(const store::MetricSecond& second);
  std::int64_t width() const { return width_; }  ///< Seconds.
  /// True if one bucket covers all of [from, to), so that it can be added as if it were one second.
  bool hold(std::int64_t from, std::int64_t to) const;
  /// All buckets; `second` is when each begins. Buckets without samples have count 0.
  const std::vector<store::MetricSecond>& buckets() const { return buckets_; }

 private:
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t width_;
  std::vector<store::MetricSecond> buckets_;
};

/// How a chart by step is read: its buckets consist of whole ranges of the store's, each of at
/// least four, so that few buckets are lost to rounding, and at most 256, so that few rows are
/// read.
struct StepChart {
  std::int64_t from = 0;     ///< At or before the wanted one.
  std::int64_t to = 0;       ///< At or after the wanted one.
  std::int64_t buckets = 0;  ///< At most one more than wanted.
  std::int64_t width = 1;    ///< The width of the ranges to read: one of store::step_widths.

  bool operator==(const StepChart&) const = default;
};
/// [from, to) in at most `most` buckets, 0 <= from < to <= 2^53 + 1. Pure.
StepChart step_chart(std::int64_t from, std::int64_t to, std::int64_t most);

/// The shortest text that parses to the same number. Pure.
std::string number_text(double value);
/// A CSV cell (RFC 4180) with untrusted text: quoted, and never a formula in a spreadsheet. Pure.
std::string csv_text(std::string_view text);
/// The header line of a metric's CSV, and its line for one second (or step); both end with CRLF.
/// Pure.
std::string csv_head(bool by_step);
std::string csv_line(std::string_view job, std::string_view metric,
                     const store::MetricSecond& second);

}  // namespace muster::cloudwatch
