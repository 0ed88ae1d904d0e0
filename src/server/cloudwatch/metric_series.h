#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/store/store.h"

namespace muster::cloudwatch {

/// A metric over time in buckets of equal width, as many as a chart has pixels: each has its least
/// and its most, so one sample that stands out is seen, however much of the time is shown. Pure.
class MetricBuckets {
 public:
  /// [from, to) in seconds since 1970, from < to, in 1 to `most` buckets of whole seconds.
  MetricBuckets(std::int64_t from, std::int64_t to, std::int64_t most);

  /// What is not of that time is left out.
  void add(const store::MetricSecond& second);
  std::int64_t width() const { return width_; }  ///< Seconds.
  /// True if all of [from, to) is one bucket's, so that it can be added as if it were one second.
  bool hold(std::int64_t from, std::int64_t to) const;
  /// All of them, `second` the one at which each begins; those without samples have count 0.
  const std::vector<store::MetricSecond>& buckets() const { return buckets_; }

 private:
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t width_;
  std::vector<store::MetricSecond> buckets_;
};

/// A number that reads as the same again, in as few digits. Pure.
std::string number_text(double value);
/// A cell of CSV (RFC 4180) with text of others: quoted, and never a formula to whoever opens the
/// file with a spreadsheet. Pure.
std::string csv_text(std::string_view text);
/// The head of a metric's CSV, and its line of one second; both end with CRLF. Pure.
std::string csv_head();
std::string csv_line(std::string_view job, std::string_view metric,
                     const store::MetricSecond& second);

}  // namespace muster::cloudwatch
